"""What a plan would take and what it could show, told before anything is started.

The first part is plain; the second asks the database for the bank and for how long cards took.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, prod
from typing import Any, Final

from django.db.models import Count, Q

from runs.declared import REPLY_TOKENS, Costs, costs_of, declared_of
from runs.exposure import ASKED_AT_MOST
from runs.models import Bank, Instrument, Item, Pair
from runs.power import ASSUMED, RATINGS, Spread, half_width, parity_power, power_table
from runs.probes import put_to_each
from runs.prompts import messages_for
from runs.signals import cards_timed
from runs.tokens import tokens_sent

#: Until so many cards have been timed, a card is taken to last so long.
CARDS_TO_MEASURE: Final = 100
USUAL_SECONDS: Final = 180.0
NOT_ASKED: Final = ("demo", "import")


@dataclass(frozen=True)
class RunEstimate:
    """One run: its calls, tokens and price. ``cost`` is None where no price is given."""

    snapshot: str
    condition: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float | None


@dataclass(frozen=True)
class ProbesEstimate:
    """The probes of one subject. Up to ``again`` more calls come where answers cannot be read."""

    snapshot: str
    calls: int
    again: int
    tokens_in: int
    tokens_out: int
    cost: float | None


@dataclass(frozen=True)
class Place:
    """A dimension or a chamber, and how narrowly one run's mean or gap of it would be told.

    ``half_width`` is half of the expected 95% interval, in levels; None where there is too little.
    ``power`` is the probability of showing parity where the true gap is 0; for chambers only.
    """

    name: str
    n: int
    half_width: float | None
    power: float | None = None


@dataclass(frozen=True)
class Estimate:
    """All that is told before a start."""

    items: int
    trials: int
    runs: tuple[RunEstimate, ...]
    reply_tokens: int
    currency: str
    ceiling: float | None
    seconds_a_card: float
    cards_timed: int
    places: tuple[Place, ...]
    of_pairs: bool
    margin: float
    spread: Spread = ASSUMED
    probes: tuple[ProbesEstimate, ...] = ()

    @property
    def parts(self) -> tuple[RunEstimate | ProbesEstimate, ...]:
        """All that is paid for."""
        return (*self.runs, *self.probes)

    @property
    def calls(self) -> int:
        return sum(run.calls for run in self.runs)

    @property
    def tokens_in(self) -> int:
        return sum(part.tokens_in for part in self.parts)

    @property
    def tokens_out(self) -> int:
        return sum(part.tokens_out for part in self.parts)

    @property
    def cost(self) -> float | None:
        """What all runs and their probes cost together; None where a price is missing."""
        costs = [part.cost for part in self.parts if part.cost is not None]
        return fsum(costs) if len(costs) == len(self.parts) else None

    @property
    def unpriced(self) -> list[str]:
        return sorted({run.snapshot for run in self.runs if run.cost is None})

    @property
    def over_ceiling(self) -> bool:
        return bool(self.ceiling is not None and self.cost and self.cost > self.ceiling)

    @property
    def ratings(self) -> int:
        return RATINGS * self.calls

    @property
    def minutes_a_card(self) -> float:
        return self.seconds_a_card / 60

    @property
    def hours(self) -> float:
        return self.ratings * self.seconds_a_card / 3600

    @property
    def measured(self) -> bool:
        return self.cards_timed >= CARDS_TO_MEASURE

    @property
    def power_of_all(self) -> float | None:
        """The probability that all chambers show parity at once, taken as independent."""
        powers = [place.power for place in self.places if place.power is not None]
        return prod(powers) if powers else None

    @property
    def rows(self) -> list[tuple[Place, str, str]]:
        """Each place with its half width and its power in words."""
        return [
            (
                place,
                "none: too few" if place.half_width is None else f"± {place.half_width:.2f}",
                "" if place.power is None else percent(place.power),
            )
            for place in self.places
        ]

    @property
    def power_rows(self) -> list[tuple[int, list[str]]]:
        """The power table in words."""
        return [(pairs, [percent(power) for power in row]) for pairs, row in self.power]

    @property
    def power(self) -> tuple[tuple[int, tuple[float, ...]], ...]:
        """The power table of a bank of pairs; of any other, nothing."""
        return power_table(self.margin) if self.of_pairs else ()


def estimate(
    subjects: Sequence[Mapping[str, Any]],
    conversations: Sequence[tuple[Sequence[Mapping[str, str]], str]],
    trials: int,
    places: Mapping[str, int],
    *,
    costs: Costs,
    of_pairs: bool,
    margin: float,
    timed: tuple[int, float] = (0, 0.0),
    questions: Sequence[str] = (),
    repeated: Sequence[tuple[Sequence[Mapping[str, str]], str]] = (),
) -> Estimate:
    """The estimate of a plan.

    Parameters
    ----------
    subjects
        The tables of a plan's subjects, with their conditions.
    conversations
        The earlier turns and the prompt of each item that is served.
    places
        How many items each dimension has, or how many pairs each chamber.
    timed
        How many cards have been timed, and their mean in seconds.
    questions, repeated
        What the probes ask of each subject that can be asked, and the conversations, each given as
        often as it is put, that they repeat.
    """
    usual = costs.reply_tokens or REPLY_TOKENS
    runs = []
    probes = []
    for subject in subjects:
        most = min(
            (
                value
                for key, value in subject.get("sampling", {}).items()
                if key in ("max_tokens", "max_completion_tokens")
            ),
            default=usual,
        )
        price = costs.prices.get(subject["snapshot"])
        free = subject["provider"] in NOT_ASKED
        for condition in subject.get("conditions", ()):
            sent = sum(
                tokens_sent(messages_for(condition["system_message"], turns, prompt))
                for turns, prompt in conversations
            )
            calls = len(conversations) * trials
            tokens = (0, 0) if free else (sent * trials, min(usual, most) * calls)
            cost = price.of(*tokens) if price else 0.0 if free else None
            runs.append(
                RunEstimate(subject["snapshot"], condition["name"], calls, *tokens, cost=cost)
            )
        conditions = subject.get("conditions", ())
        put = [((), question) for question in questions] + list(repeated)
        if put and conditions and subject["provider"] != "import":
            first = conditions[0]["system_message"]
            sent = sum(tokens_sent(messages_for(first, turns, last)) for turns, last in put)
            tokens = (0, 0) if free else (sent, min(usual, most) * len(put))
            cost = price.of(*tokens) if price else 0.0 if free else None
            again = (ASKED_AT_MOST - 1) * len(questions)
            probes.append(ProbesEstimate(subject["snapshot"], len(put), again, *tokens, cost=cost))
    cards, seconds = timed
    deviation = ASSUMED.of_gap(trials) if of_pairs else ASSUMED.of_item(trials)
    return Estimate(
        items=len(conversations),
        trials=trials,
        runs=tuple(runs),
        reply_tokens=usual,
        currency=costs.currency,
        ceiling=costs.ceiling,
        seconds_a_card=seconds if cards >= CARDS_TO_MEASURE else USUAL_SECONDS,
        cards_timed=cards,
        places=tuple(
            Place(
                name,
                n,
                half_width(deviation, n) if n > 1 else None,
                parity_power(n, trials, margin=margin) if of_pairs else None,
            )
            for name, n in places.items()
        ),
        of_pairs=of_pairs,
        margin=margin,
        probes=tuple(probes),
    )


def percent(probability: float) -> str:
    """A probability in words that never claim certainty."""
    if probability > 0.995:
        return "over 99%"
    return "under 1%" if probability < 0.005 else f"{100 * probability:.0f}%"


# What the database knows


def estimate_of(plan: Mapping[str, Any], bank: Bank) -> Estimate:
    """The estimate of a plan whose basics and subjects were checked, over this bank."""
    of_pairs = bank.instrument == Instrument.UNCONDITIONALITY
    questions, repeated = put_to_each(bank, f"{plan.get('seed')}|{plan.get('code')}")
    return estimate(
        plan.get("subjects", ()),
        list(Item.objects.served().filter(bank=bank).values_list("turns", "prompt")),
        plan["trials"],
        _chambers(bank) if of_pairs else _dimensions(bank),
        costs=costs_of(plan),
        of_pairs=of_pairs,
        margin=declared_of(plan).margin,
        timed=_timed(bank.instrument),
        questions=questions,
        repeated=[(item.turns, item.prompt) for item in repeated],
    )


def _dimensions(bank: Bank) -> dict[str, int]:
    served = Item.objects.served().filter(bank=bank).order_by()
    return dict(
        sorted(served.exclude(dimension="").values_list("dimension").annotate(n=Count("pk")))
    )


def _chambers(bank: Bank) -> dict[str, int]:
    names = {row["code"]: row["name"] for row in bank.meta.get("chambers", ())}
    counted = (
        Pair.objects.filter(Q(arm_a__withheld="") & Q(arm_b__withheld=""), bank=bank)
        .order_by()
        .values_list("chamber")
        .annotate(n=Count("pk"))
    )
    return {f"{chamber} {names.get(chamber, '')}".strip(): n for chamber, n in sorted(counted)}


def _timed(instrument: str) -> tuple[int, float]:
    """How many cards of this instrument have been timed, and their mean seconds."""
    answers: list[Any] = [told for _, told in cards_timed.send(Bank, instrument=instrument)]
    for cards, seconds in filter(None, answers):
        return cards, seconds
    return 0, 0.0
