"""A world of simulated people, replies and ratings, of any size: plain rows, a part at a time.

Nothing here was said by a model or a person. Sentences are put together by chance, levels come of
a stated model, and everything follows from the seed. What is kept in memory is the tallies of a
wave and the last part, whatever the size.

A level is where a latent value lies between thresholds: the value of a response, which is a sum of
its subject's, its item's and its own, plus what a rater adds, which is their severity and chance.
The shares of the two sums are set so that two ratings agree as much as is asked for.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil, pi, sqrt
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rating.disputes import triggers
from rating.makers import is_drawn
from runs.canonical import draw

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Row = tuple[Any, ...]

PART: Final = 5_000  # responses that are made at once
DAYS: Final = 70  # from the first rating to the last
# Of the variance that two ratings of a response share: its subject's, its item's, its own.
SHARED: Final = (0.12, 0.33, 0.55)
SEVERITY: Final = 0.15  # of the variance that they do not share: what raters differ by throughout
# Levels lose a little of the agreement of the values that they stand for.
LOST_IN_LEVELS: Final = 0.06
# How often each level is given, from the lowest.
LEVELS: Final = {5: (0.07, 0.2, 0.36, 0.26, 0.11), 6: (0.05, 0.13, 0.24, 0.29, 0.2, 0.09)}
# What becomes of a trial: answered, filtered, failed, malformed.
ENDS: Final = (("completed", 0.985), ("filtered", 0.008), ("failed", 0.004), ("malformed", 0.003))
HARM, UNSURE, SKIPPED, REPEATED, NAMED = 0.002, 0.12, 0.02, 0.015, 0.003
SETTLED: Final = 0.95  # of what is to be settled, in a wave where rating is over
MINUTES: Final = 45
SENTENCES: Final = (
    "I hear how heavy this is for you.",
    "There is no need to carry it alone tonight.",
    "What you describe would tire anyone out.",
    "It makes sense that you feel torn about it.",
    "You could begin with one small thing today.",
    "Perhaps somebody near you could take over for an hour.",
    "Here are a few steps that people often find useful.",
    "First, write down what has to happen this week and what can wait.",
    "It isn’t a failing to ask for help.",
    "I can’t know how this feels from the inside.",
    "Would it help to talk through what happened yesterday?",
    "Many people in your place feel the same – and few say it.",
    "You did not cause this.",
    "There may be an advice centre in your town that is free of charge.",
    "Some of this is not yours to solve.",
    "Please speak with a doctor about the sleep.",
    "It is common to feel angry and sad at once.",
    "A short walk may give you a little distance.",
    "You might tell them: “I need a pause, and I am coming back.”",
    "Whatever you decide, it can be decided again.",
    "As an assistant I have no opinion on this.",
    "The following list is general information.",
    "Consider making a budget and keeping to it.",
    "That sounds lonely, and you’ve kept going for a long time.",
    "What would you say to a friend who told you this?",
    "I would like to understand one thing better before I go on.",
    "Sleep, food and company come before plans.",
    "You don’t have to forgive anybody today.",
    "Small repairs count, too.",
    "It is all right not to know yet.",
    "Try to stay positive.",
    "In general, communication is the key to such situations.",
)


@dataclass(frozen=True)
class Wave:
    """One wave of the world: whom it asks what, how often, and how far its rating has come.

    ``twice`` and ``once`` are shares of what is answered.
    """

    code: str
    title: str
    instrument: str
    items: int
    subjects: int
    conditions: int
    trials: int
    answered: float
    twice: float
    once: float
    over: bool

    @property
    def runs(self) -> int:
        return self.subjects * self.conditions

    @property
    def responses(self) -> int:
        return self.runs * self.items * self.trials


@dataclass(frozen=True)
class People:
    """Numbers of those who do the work. Raters also have how severe each is, in latent units."""

    raters: Sequence[int]
    adjudicators: Sequence[int]
    severities: Floats


@dataclass(frozen=True)
class Numbers:
    """The rows that a wave stands on, by number. ``anchors`` has a row an item, a column a level."""

    wave: int
    runs: Sequence[int]
    subject_of: Sequence[int]
    developer_of: Sequence[str]
    items: Sequence[int]
    pairs: Sequence[int | None]
    arms: Sequence[int]
    topics: Sequence[str]
    anchors: Sequence[Sequence[int]]
    levels: Sequence[int]


@dataclass
class Counters:
    """The next number of each table, and of each rater's cards."""

    response: int = 1
    slot: int = 1
    assignment: int = 1
    quote: int = 1
    event: int = 1
    ordinals: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Agreed:
    """An agreed response: its number, its item and level by their places, words to quote."""

    response: int
    item: int
    level: int
    spans: Sequence[tuple[int, int]]


@dataclass
class Part:
    """The rows of some responses, by table, in the order of ``COLUMNS``."""

    rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in COLUMNS})


COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "runs_response": (
        "id", "run_id", "item_id", "trial", "position", "seed", "code", "status", "text",
        "text_hash", "finish_reason", "fingerprint", "usage", "attempts", "message_hash",
        "completed_at", "held_by", "leak_hits", "self_naming", "mask", "mask_decided_at",
    ),
    "rating_slot": (
        "id", "response_id", "number", "state", "draw", "partner_id", "wave_id", "item_id",
        "pair_id", "topic", "language", "subject_id", "arm",
    ),
    "rating_assignment": (
        "id", "code", "kind", "slot_id", "response_id", "rater_id", "leased_at", "expires_at",
        "ordinal", "parked", "ended_at", "outcome", "skip_reason", "skip_note",
    ),
    "rating_quote": ("id", "rating_id", "start", "end", "absence"),
    "rating_rating": (
        "id", "response_id", "rater_id", "anchor_id", "assignment_id", "kind", "slot", "note",
        "confidence", "critical_harm", "harm_line", "active_seconds", "tags", "flags", "rated_at",
    ),
    "rating_guess": ("rating_id", "maker", "sure", "asked_at", "answered_at"),
    "rating_adjudication": (
        "response_id", "triggers", "opened_at", "code", "adjudicator_id", "held_until",
        "own_anchor_id", "own_at", "first_side_id", "second_side_id", "anchor_id", "reason",
        "guideline_gap", "harm_upheld", "settled_at", "ended",
    ),
    "rating_event": ("id", "kind", "actor_id", "about", "happened_at", "place", "previous", "seal"),
}  # fmt: skip


def waves_of(responses: int, banks: dict[str, int]) -> list[Wave]:
    """Four waves that hold so many responses, as near as whole trials allow.

    ``banks`` says how many items each instrument serves. One wave is over and unblinded, one of
    pairs too, one is being rated, and in one subjects are still asked.
    """
    index, pairs = banks["model-index"], banks["unconditionality"]
    return [
        _wave("sim-1", "Simulated: rated and unblinded", "model-index", index, responses * 0.45,
              1.0, 1.0, 0.0, True),
        _wave("sim-2", "Simulated: pairs, rated and unblinded", "unconditionality", pairs,
              responses * 0.2, 1.0, 1.0, 0.0, True),
        _wave("sim-3", "Simulated: being rated", "model-index", index, responses * 0.31,
              1.0, 0.98, 0.01, False),
        _wave("sim-4", "Simulated: being asked", "model-index", index, responses * 0.04,
              0.6, 0.0, 0.0, False),
    ]  # fmt: skip


def _wave(
    code: str,
    title: str,
    instrument: str,
    items: int,
    responses: float,
    answered: float,
    twice: float,
    once: float,
    over: bool,
) -> Wave:
    subjects = min(20, max(2, round(responses / items / 6)))
    each = responses / items / subjects
    conditions = min(3, max(1, ceil(each / 100)))
    trials = max(3, round(each / conditions))
    return Wave(
        code, title, instrument, items, subjects, conditions, trials, answered, twice, once, over
    )


def severities(raters: int, seed: str, alpha: float) -> Floats:
    """What each rater adds to every value: their share of what two ratings do not share."""
    return sqrt(SEVERITY * (1 - _shared(alpha))) * Chance(f"{seed}|raters").normal(raters)


def parts(
    wave: Wave,
    numbers: Numbers,
    people: People,
    counters: Counters,
    *,
    seed: str,
    alpha: float,
    ends: datetime,
    guess_percent: int,
    adjudicate_at: int,
    adjudicate_sample: int,
    makers: Sequence[str],
) -> Iterator[tuple[int, Part]]:
    """How many responses are done, and the rows of the last part, until there are none left.

    Raters are dealt in rounds, each drawn anew: everybody has as many cards as the others, give or
    take one, and meets everybody else. The last rating is given at ``ends``.
    """
    shared = _shared(alpha)
    once_for_all = Chance(f"{seed}|{wave.code}")
    subject = sqrt(SHARED[0] * shared) * once_for_all.normal(wave.runs)
    item = sqrt(SHARED[1] * shared) * once_for_all.normal(wave.items)
    # In pairs one arm is met with a little less care, in every other pair.
    item -= 0.15 * np.array([arm == 2 and place % 4 == 1 for place, arm in enumerate(numbers.arms)])
    cuts = np.array(
        [NormalDist().inv_cdf(share) for share in np.cumsum(LEVELS[len(numbers.levels)])[:-1]]
    )
    begun = ends - timedelta(days=DAYS)
    settled_share = SETTLED if wave.over else SETTLED / 2
    dealer = _Dealer(len(people.raters), f"{seed}|{wave.code}|dealt")
    for start in range(0, wave.responses, PART):
        count = min(PART, wave.responses - start)
        chance = Chance(f"{seed}|{wave.code}|{start}")
        place = np.arange(start, start + count)
        # Every run is asked the same trial of an item at about the same time.
        at_item, at_run = place % wave.items, place // wave.items % wave.runs
        trial = place // (wave.items * wave.runs) + 1
        value = subject[at_run] + item[at_item]
        value += sqrt(SHARED[2] * shared) * chance.normal(count)
        first, second, third = dealer.three(count)
        levels = [
            np.searchsorted(
                cuts,
                value
                + people.severities[who]
                + sqrt((1 - SEVERITY) * (1 - shared)) * chance.normal(count),
            )
            for who in (first, second, third)
        ]
        yield (
            start + count,
            _Maker(
                wave, numbers, people, counters, chance, begun, seed, settled_share,
                guess_percent, adjudicate_at, adjudicate_sample, makers,
            ).part(place, at_item, at_run, trial, value, (first, second, third), levels),
        )  # fmt: skip


def _shared(alpha: float) -> float:
    return min(0.99, alpha / (1 - LOST_IN_LEVELS))


class Chance:
    """Draws from a seed, out of raw words alone: they stay the same from version to version."""

    def __init__(self, seed: str) -> None:
        number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:16], "big")
        self._words = np.random.PCG64(number)

    def uniform(self, count: int) -> Floats:
        """So many, from above 0 to below 1."""
        words = self._words.random_raw(count) >> np.uint64(11)
        return np.asarray((words + 0.5) * 2.0**-53, dtype=np.float64)

    def normal(self, count: int) -> Floats:
        half = (count + 1) // 2
        far, angle = np.sqrt(-2 * np.log(self.uniform(half))), 2 * pi * self.uniform(half)
        return np.concatenate([far * np.cos(angle), far * np.sin(angle)])[:count]

    def below(self, limit: int, count: int) -> Whole:
        return (self.uniform(count) * limit).astype(np.int64)

    def codes(self, count: int) -> list[str]:
        """So many random UUIDs, as text."""
        words = self._words.random_raw(2 * count).astype(">u8").tobytes().hex()
        return [
            f"{one[:8]}-{one[8:12]}-4{one[13:16]}-{'89ab'[int(one[16], 16) & 3]}{one[17:20]}-{one[20:]}"
            for one in (words[at : at + 32] for at in range(0, 32 * count, 32))
        ]


class _Dealer:
    """Raters by rounds. The three of a response are three people."""

    def __init__(self, raters: int, seed: str) -> None:
        if raters < 3:
            raise ValueError("A world takes at least three raters.")
        self.raters, self.chance = raters, Chance(seed)

    def three(self, count: int) -> tuple[Whole, Whole, Whole]:
        dealt: list[Whole] = []
        for _ in range(ceil(count / self.raters)):
            order = np.argsort(self.chance.uniform(self.raters), kind="stable")
            near = 1 + int(self.chance.below(self.raters - 1, 1)[0])
            far = 1 + (near + int(self.chance.below(self.raters - 2, 1)[0])) % (self.raters - 1)
            dealt.append(np.stack([order, np.roll(order, near), np.roll(order, far)]))
        first, second, third = np.concatenate(dealt, axis=1)[:, :count]
        return first, second, third


@dataclass
class _Maker:
    wave: Wave
    numbers: Numbers
    people: People
    counters: Counters
    chance: Chance
    begun: datetime
    seed: str
    settled_share: float
    guess_percent: int
    adjudicate_at: int
    adjudicate_sample: int
    makers: Sequence[str]

    def part(
        self,
        place: Whole,
        at_item: Whole,
        at_run: Whole,
        trial: Whole,
        value: Floats,
        who: tuple[Whole, Whole, Whole],
        levels: list[Whole],
    ) -> Part:
        made, wave, numbers, chance = Part(), self.wave, self.numbers, self.chance
        count = len(place)
        codes, ratings = chance.codes(count), chance.codes(3 * count)
        cards, settles = chance.codes(4 * count), chance.codes(count)
        u = chance.uniform(24 * count).reshape(24, count).tolist()
        sentences = np.clip(
            np.rint(np.exp(2.6 + 0.12 * value + 0.45 * chance.normal(count))), 2, 60
        ).astype(np.int64)
        words = chance.below(len(SENTENCES), int(sentences.sum()))
        bounds = np.concatenate([[0], np.cumsum(sentences)])
        share = (place / max(1, wave.responses)).tolist()
        ends = np.cumsum([part for _, part in ENDS])
        ended = np.searchsorted(ends, np.array(u[0]) * ends[-1]).tolist()
        runs, items, trials, places = (one.tolist() for one in (at_run, at_item, trial, place))
        dealt, said = [one.tolist() for one in who], [one.tolist() for one in levels]
        asked_at = self.begun - timedelta(days=7)
        for n in range(count):
            run, item = runs[n], items[n]
            answered = share[n] < wave.answered
            status = ENDS[ended[n]][0] if answered else "pending"
            complete = status == "completed"
            text, spans = _text(words[bounds[n] : bounds[n + 1]].tolist()) if complete else ("", [])
            completed_at = asked_at + timedelta(minutes=round(10_000 * share[n]))
            again = u[1][n] < 0.01
            naming = complete and u[2][n] < NAMED
            response = self.counters.response
            self.counters.response += 1
            made.rows["runs_response"].append(
                (
                    response, numbers.runs[run], numbers.items[item], trials[n],
                    places[n], places[n], codes[n], status, text,
                    hashlib.sha256(text.encode()).hexdigest() if complete else "",
                    "stop" if complete else "", "simulated" if answered else "",
                    f'{{"prompt_tokens": {60 + item}, "completion_tokens": {len(text) // 4}}}'
                    if complete else "{}",
                    _attempts(status, again, completed_at) if answered else "[]", "",
                    completed_at if answered else None, "", "[]",
                    f'[[{spans[0][0]}, {spans[0][1]}, "subject"]]' if naming else "[]", "[]",
                    completed_at if naming else None,
                )
            )  # fmt: skip
            if not complete:
                continue
            rated_by = 0
            if wave.twice + wave.once:
                done = u[3][n] if wave.over else share[n]
                rated_by = 2 if done < wave.twice else 1 if done < wave.twice + wave.once else 0
            first_at = self.begun + timedelta(
                seconds=DAYS * 86_400 * 0.97 * share[n] + 300 * u[4][n]
            )
            second_at = first_at + timedelta(seconds=600 + DAYS * 86_400 * 0.02 * u[5][n])
            raters = [one[n] for one in dealt]
            slots = self._slots(made, response, run, item, rated_by, raters, codes[n])
            given = []
            for side, at in ((0, first_at), (1, second_at))[:rated_by]:
                given.append(
                    self._rating(
                        made, response, slots[side], raters[side], "counted", side + 1, said[side][n], item, at, spans, ratings[3 * n + side],
                        cards[4 * n + side], [u[6 + 6 * side + k][n] for k in range(6)],
                    )
                )  # fmt: skip
            if rated_by and u[18][n] < SKIPPED:
                self._skip(made, response, slots[0], raters[2], first_at, cards[4 * n + 2])
            if rated_by and u[19][n] < REPEATED:
                later = first_at + timedelta(days=1, seconds=60)
                near = said[0][n] + (u[20][n] > 0.8) - (u[20][n] < 0.1)
                self._rating(
                    made, response, None, raters[0], "repeat", None,
                    min(max(near, 0), len(numbers.levels) - 1), item, later, spans,
                    ratings[3 * n + 2], cards[4 * n + 3],
                    [u[17 - k][n] for k in range(6)],
                )  # fmt: skip
            if rated_by and is_drawn(self.seed_of_wave, codes[n], self.guess_percent):
                for side in range(rated_by):
                    self._guess(made, given[side], u[21][n], u[22 - side][n])
            if rated_by == 2:
                self._settle(made, response, run, item, given, codes[n], settles[n], u[23][n])
        return made

    @property
    def seed_of_wave(self) -> str:
        return f"{self.seed} {self.wave.code}"

    def _slots(
        self,
        made: Part,
        response: int,
        run: int,
        item: int,
        rated_by: int,
        raters: Sequence[int],
        code: str,
    ) -> tuple[int, int]:
        numbers = self.numbers
        drawn = int.from_bytes(draw(self.seed_of_wave, code)[:8], "big") >> 1
        first = self.counters.slot
        self.counters.slot += 2
        for side in (0, 1):
            rated = side < rated_by
            other = raters[1 - side] if rated_by == 2 or (rated_by == 1 and side == 1) else None
            made.rows["rating_slot"].append(
                (
                    first + side, response, side + 1,
                    "rated" if rated else "closed" if self.wave.over else "open", drawn,
                    None if other is None else self.people.raters[other], numbers.wave,
                    numbers.items[item], numbers.pairs[item], numbers.topics[item], "en",
                    numbers.subject_of[run], numbers.arms[item],
                )
            )  # fmt: skip
        return first, first + 1

    def _rating(
        self,
        made: Part,
        response: int,
        slot: int | None,
        rater: int,
        kind: str,
        number: int | None,
        level: int,
        item: int,
        at: datetime,
        spans: Sequence[tuple[int, int]],
        key: str,
        card: str,
        u: Sequence[float],
    ) -> Row:
        person = self.people.raters[rater]
        seconds = 40 + int(300 * u[0] * u[0])
        assignment = self._card(
            made, card, kind, slot, response, person, at - timedelta(seconds=seconds), at, "rated"
        )
        chosen = spans[int(u[1] * len(spans))]
        quotes = [chosen]
        if u[2] < 0.1 and len(spans) > 1:
            quotes.append(next(one for one in spans if one != chosen))
        for start, end in quotes:
            made.rows["rating_quote"].append(
                (self.counters.quote, key, start, end, level == 0 and u[3] < 0.5)
            )
            self.counters.quote += 1
        harm = u[4] < HARM
        confidence = (
            "unsure"
            if u[5] < UNSURE
            else "fairly-sure"
            if u[5] < 0.5
            else "sure"
            if u[5] < 0.9
            else ""
        )
        row = (
            key, response, person, self.numbers.anchors[item][level], assignment, kind, number,
            "A simulated note." if u[3] > 0.9 else "", confidence, harm,
            "Simulated: this line could do harm." if harm else "", seconds, "[]", "{}", at,
        )  # fmt: skip
        made.rows["rating_rating"].append(row)
        self._event(made, "rate", person, {"rating": key, "kind": kind}, at)
        return (*row, level)

    def _card(
        self,
        made: Part,
        code: str,
        kind: str,
        slot: int | None,
        response: int,
        person: int,
        leased: datetime,
        ended: datetime,
        outcome: str,
        reason: str = "",
    ) -> int:
        number = self.counters.assignment
        self.counters.assignment += 1
        ordinal = self.counters.ordinals.get(person, 0) + 1
        self.counters.ordinals[person] = ordinal
        made.rows["rating_assignment"].append(
            (
                number, code, kind, slot, response, person, leased,
                leased + timedelta(minutes=MINUTES), ordinal, False, ended, outcome, reason, "",
            )
        )  # fmt: skip
        return number

    def _skip(
        self, made: Part, response: int, slot: int, rater: int, at: datetime, code: str
    ) -> None:
        person, ended = self.people.raters[rater], at - timedelta(minutes=20)
        leased = ended - timedelta(minutes=1)
        self._card(
            made, code, "counted", slot, response, person, leased, ended, "skipped", "rather-not"
        )
        self._event(made, "skip", person, {"assignment": code, "reason": "rather-not"}, ended)

    def _guess(self, made: Part, rating: Row, answered: float, chosen: float) -> None:
        at = rating[14] + timedelta(seconds=1)
        known = answered < 0.95
        maker = self.makers[int(chosen * len(self.makers))] if known and answered < 0.6 else ""
        made.rows["rating_guess"].append(
            (
                rating[0], maker, "fairly-sure" if maker and chosen < 0.5 else "", at,
                at + timedelta(seconds=9) if known else None,
            )
        )  # fmt: skip

    def _settle(
        self,
        made: Part,
        response: int,
        run: int,
        item: int,
        given: Sequence[Row],
        code: str,
        settling: str,
        u: float,
    ) -> None:
        levels = [int(one[-1]) for one in given]
        holds = triggers(
            levels,
            [one[9] for one in given],
            [one[8] for one in given],
            distance=self.adjudicate_at,
            sample=self.adjudicate_sample,
            draw=draw(self.seed_of_wave, f"{code} settle"),
        )
        if not holds:
            return
        sides = sorted((one[0] for one in given), key=lambda key: draw(settling, key))
        opened = max(one[14] for one in given) + timedelta(minutes=11)
        names = "[" + ", ".join(f'"{name}"' for name in holds) + "]"
        if u >= self.settled_share:
            row = (None, None, None, None, *sides, None, "", False, None, None)
        else:
            who = self.people.adjudicators[response % len(self.people.adjudicators)]
            own_at = opened + timedelta(minutes=30)
            anchor = self.numbers.anchors[item][round(sum(levels) / 2)]
            harm = True if any(one[9] for one in given) else None
            at = own_at + timedelta(minutes=4)
            row = (
                who, None, anchor, own_at, *sides, anchor, "Simulated: weighed against the anchors.",
                u < 0.02, harm, at,
            )  # fmt: skip
            self._event(made, "settle", who, {"adjudication": settling}, at)
        made.rows["rating_adjudication"].append((response, names, opened, settling, *row, ""))

    def _event(
        self, made: Part, kind: str, actor: int, about: dict[str, str], at: datetime
    ) -> None:
        # Sealed by whoever stores it: each seal needs the one before.
        made.rows["rating_event"].append((self.counters.event, kind, actor, about, at))
        self.counters.event += 1


def checks(
    numbers: Numbers,
    people: People,
    counters: Counters,
    agreed: Sequence[Agreed],
    *,
    seed: str,
    alpha: float,
    ends: datetime,
) -> Part:
    """Every rater's rating of every agreed response, spread over the time of the world."""
    made, chance = Part(), Chance(f"{seed}|checks")
    wave = Wave("", "", "", 0, 0, 0, 0, 1.0, 1.0, 0.0, False)
    maker = _Maker(wave, numbers, people, counters, chance, ends, seed, 0.0, 0, 9, 0, ())
    noise = sqrt(1 - _shared(alpha))
    for one in agreed:
        count = len(people.raters)
        off = np.rint(people.severities + noise * chance.normal(count))
        levels = np.clip(one.level + off, 0, len(numbers.levels) - 1)
        ratings, cards, u = (
            chance.codes(count),
            chance.codes(count),
            chance.uniform(7 * count).reshape(count, 7).tolist(),
        )
        for rater in range(count):
            at = ends - timedelta(seconds=1 + round(DAYS * 86_400 * u[rater][6]))
            maker._rating(
                made, one.response, None, rater, "seed", None, int(levels[rater]), one.item, at,
                one.spans, ratings[rater], cards[rater], u[rater],
            )  # fmt: skip
    return made


def text_of(chance: Chance, sentences: int) -> tuple[str, list[tuple[int, int]]]:
    """A reply of so many sentences, and where each stands."""
    return _text(chance.below(len(SENTENCES), sentences).tolist())


def _text(words: Sequence[int]) -> tuple[str, list[tuple[int, int]]]:
    """Sentences in paragraphs of three, and where each stands."""
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    at = 0
    for place, word in enumerate(words):
        if place:
            gap = "\n\n" if place % 3 == 0 else " "
            pieces.append(gap)
            at += len(gap)
        sentence = SENTENCES[word]
        pieces.append(sentence)
        spans.append((at, at + len(sentence)))
        at += len(sentence)
    return "".join(pieces), spans


def _attempts(status: str, again: bool, at: datetime) -> str:
    moment = at.isoformat() + "+00:00"
    kinds = (["timeout"] if again else []) + [status]
    return (
        "["
        + ", ".join(
            f'{{"outcome": "{kind}", "detail": "", "at": "{moment}", "seed": 1}}' for kind in kinds
        )
        + "]"
    )
