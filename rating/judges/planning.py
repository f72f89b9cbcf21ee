"""Registering a round of judging: who judges what, by which rule, before anything is asked."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import count, product
from string import ascii_lowercase
from typing import Any, Final

from django.db import transaction
from django.utils.text import slugify

from rating.blinding import shown
from rating.judges import panel, prompt
from rating.judges.families import Maker
from rating.judges.tables import (
    Configuration,
    Judge,
    Judgement,
    Judging,
    JudgingState,
    PanelJudge,
    Purpose,
)
from rating.judges.validity import FINDINGS_FROM, sample
from rating.models import EventKind
from rating.queue.writing import log
from rating.quotes import LEAST_CHARACTERS, LEAST_WORDS
from runs.canonical import digest, draw
from runs.models import Provider, Response, Status, Subject, Wave
from runs.tokens import tokens_sent

UNFOUND_PERCENT: Final = 5
REQUOTES: Final = 1
EACH: Final = {Configuration.PANEL: 2, Configuration.CROSS: 1, Configuration.SELF: 1}
FEWEST: Final = {Configuration.PANEL: 2, Configuration.CROSS: 1, Configuration.SELF: 1}
MEASURED: Final = 50  # prompts of which the tokens are counted, to say how many all will take


class JudgingRefused(ValueError):
    """What cannot be done with a round of judging, with every reason."""

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


@dataclass(frozen=True)
class Planned:
    """A round that is registered: how much is judged, what is left out and why, and each load."""

    judging: Judging
    responses: int
    left_out: Mapping[str, int]
    loads: tuple[panel.Load, ...]
    tokens: int


def plan_judging(
    wave: Wave,
    judges: Sequence[str],
    *,
    seed: str,
    configuration: str = Configuration.PANEL,
    code: str = "",
    size: int | None = None,
    hard_topics: bool = False,
    unfound_percent: int | Decimal = UNFOUND_PERCENT,
    by: int | None = None,
) -> Planned:
    """Register a round over the responses of a wave that are there now.

    Parameters
    ----------
    wave : Wave
        A locked wave.
    judges : sequence of str
        The codes of the subjects that judge.
    seed : str
        What who judges what, the order and the sample are drawn from.
    configuration : str
        ``panel``, ``cross`` or ``self``.
    code : str
        The name of the round within the wave; one is made where it is empty.
    size : int, optional
        How many responses are judged, drawn in equal parts from the runs; all where it is None.
    hard_topics : bool
        Whether responses on hard topics are judged.
    unfound_percent : int or Decimal
        The exclusion rule.
    by : int, optional
        The key of the person who registers it.

    Raises
    ------
    JudgingRefused
        With every reason. Then nothing is stored.
    """
    faults = _faults_of(wave, judges, seed, configuration, size, unfound_percent)
    subjects, unknown = _subjects(judges)
    if faults + unknown:
        raise JudgingRefused(*faults, *unknown)
    rows, left_out = _responses(wave, hard_topics=hard_topics)
    if size is not None:
        keys = _sampled(rows, size, seed)
        left_out["not drawn for the sample"] = len(rows) - len(keys)
        rows = [row for row in rows if str(row.code) in keys]
    if not rows:
        raise JudgingRefused(f"No response of {wave} can be judged now: {_listed(left_out)}.")
    chosen = Configuration(configuration)
    rule = _rule(
        each=EACH[chosen], hard_topics=hard_topics, unfound_percent=unfound_percent, size=size
    )
    places = {str(row.code): row for row in rows}
    with transaction.atomic():
        # One at a time in a wave, so that two rounds never take one name.
        Wave.objects.select_for_update(no_key=True).get(pk=wave.pk)
        serving = [_judge(subject) for subject in subjects]
        dealt = _dealt(rows, serving, chosen, seed)
        judging = _register(
            Judging(
                wave=wave,
                code=_code(wave, code, "j"),
                configuration=chosen,
                seed=seed,
                rule=rule,
                made_by_id=by,
            ),
            serving,
            [
                (places[key], number, name)
                for key, names in dealt.judges.items()
                for number, name in enumerate(names, start=1)
            ],
        )
    return Planned(judging, len(rows), left_out, dealt.loads, _tokens(judging))


def plan_bridge(
    wave: Wave, source: Judging, *, size: int, seed: str, code: str = "", by: int | None = None
) -> Planned:
    """Register a bridge: a sample of an earlier round, judged again by the judges who judged it.

    Its levels tell whether judges moved between two rounds. They are in no mean.

    Raises
    ------
    JudgingRefused
        With every reason. Then nothing is stored.
    """
    faults = []
    if wave.bank.content_hash != source.wave.bank.content_hash:
        faults.append(
            f"{source} is of bank {source.wave.bank} and {wave} of bank {wave.bank}: levels of two "
            "banks are not compared. Take a round over the same bank."
        )
    if source.purpose != Purpose.JUDGING:
        faults.append(f"{source} is a bridge itself: name the round it is of.")
    if source.state != JudgingState.DONE:
        faults.append(f"{source} is {source.state}: a bridge is to a round that is done.")
    if size < 1:
        faults.append(f"A sample of {size} is none: take at least 1.")
    if not seed.strip():
        faults.append("The seed is empty: give --seed a number or a word.")
    if faults:
        raise JudgingRefused(*faults)
    standing: dict[Response, list[Judgement]] = {}
    for row in (
        Judgement.objects.of(source)
        .standing()
        .select_related("response__run__subject", "panel_judge__judge__subject")
        .order_by("number")
    ):
        standing.setdefault(row.response, []).append(row)
    whole = [
        response for response, both in standing.items() if len(both) == source.rule["per_response"]
    ]
    keys = _sampled(whole, size, seed)
    chosen_rows = [
        row for response in whole if str(response.code) in keys for row in standing[response]
    ]
    if not chosen_rows:
        raise JudgingRefused(f"{source} has no response that all its judges answered.")
    serving = sorted({row.panel_judge.judge for row in chosen_rows}, key=lambda one: one.name)
    rule = {**source.rule, "prompt": prompt.version(), "sample": size, "bridge_of": str(source)}
    with transaction.atomic():
        Wave.objects.select_for_update(no_key=True).get(pk=wave.pk)
        judging = _register(
            Judging(
                wave=wave,
                code=_code(wave, code, "b"),
                configuration=source.configuration,
                purpose=Purpose.BRIDGE,
                bridge_of=source,
                seed=seed,
                rule=rule,
                made_by_id=by,
            ),
            serving,
            [(row.response, row.number, row.panel_judge.judge.name) for row in chosen_rows],
        )
    left_out = {"not drawn for the sample": len(whole) - len(keys)}
    return Planned(judging, len(keys), left_out, (), _tokens(judging))


def registration_of(judging: Judging) -> str:
    """The hash of all that a round was registered with, from the rows as they are now."""
    places = Judgement.objects.of(judging).originals()
    names = ("response__code", "number", "panel_judge__number", "position")
    return _registration(
        judging,
        list(judging.panel.values_list("number", "judge__subject__code")),
        [(str(code), *rest) for code, *rest in places.values_list(*names)],
    )


def _registration(
    judging: Judging,
    members: Sequence[tuple[int, str]],
    places: Sequence[tuple[str, int, int, int]],
) -> str:
    return digest(
        {
            "wave": judging.wave.code,
            "round": judging.code,
            "bank": judging.wave.bank.content_hash,
            "configuration": judging.configuration,
            "purpose": judging.purpose,
            "bridge_of": str(judging.bridge_of) if judging.bridge_of else "",
            "seed": judging.seed,
            "rule": judging.rule,
            "panel": sorted(members),
            "places": sorted(places),
        }
    )


def maker_of(subject: Subject) -> Maker:
    return Maker(subject.code, subject.family, subject.digest)


def as_registered(judging: Judging) -> str:
    """Why a round may not go on as it is; empty where it is as it was registered."""
    if judging.rule.get("prompt") != prompt.version():
        return (
            f"The instructions to judges have changed since {judging} was registered, so its answers "
            "would not be alike. Plan a new round."
        )
    return ""


def _faults_of(
    wave: Wave,
    judges: Sequence[str],
    seed: str,
    configuration: str,
    size: int | None,
    unfound_percent: int | Decimal,
) -> list[str]:
    faults = []
    if wave.locked_at is None:
        faults.append(f"The plan of {wave} is not locked, so it has no responses to judge.")
    if not seed.strip():
        faults.append("The seed is empty: give --seed a number or a word.")
    if configuration not in Configuration.values:
        known = ", ".join(Configuration.values)
        faults.append(f"There is no configuration {configuration!r}; take one of: {known}.")
    elif len(set(judges)) < FEWEST[Configuration(configuration)]:
        faults.append(
            f"Configuration {configuration} needs at least {FEWEST[Configuration(configuration)]} "
            f"judges, and {len(set(judges))} is named: add --judge SUBJECT."
        )
    if size is not None and size < 1:
        faults.append(f"A sample of {size} is none: take at least 1, or leave --sample out.")
    if not 0 <= unfound_percent < 100:
        faults.append(f"{unfound_percent}% is no exclusion rule: take 0 or more, below 100.")
    return faults


def _subjects(codes: Sequence[str]) -> tuple[list[Subject], list[str]]:
    """The subjects that judge, in the order named, and what is wrong with the names."""
    found = {subject.code: subject for subject in Subject.objects.filter(code__in=codes)}
    faults = []
    for code in dict.fromkeys(codes):
        if code not in found:
            faults.append(f"There is no subject {code}: register it, or see `subject list`.")
        elif found[code].provider == Provider.IMPORT:
            faults.append(f"{code} cannot be asked: its responses are imported.")
    return [found[code] for code in dict.fromkeys(codes) if code in found], faults


def _responses(wave: Wave, *, hard_topics: bool) -> tuple[list[Response], dict[str, int]]:
    """What can be judged, and how many responses cannot, by the reason."""
    every = Response.objects.of_wave(wave)
    complete = every.filter(status=Status.COMPLETED)
    ready = complete.ready_to_rate()
    told = ready if hard_topics else ready.filter(item__topic="")
    left_out = Counter(
        {
            "not come yet": every.filter(status=Status.PENDING).count(),
            "filtered, failed or malformed": every.exclude(
                status__in=[Status.PENDING, Status.COMPLETED]
            ).count(),
            "naming their maker, undecided": complete.undecided().count(),
            "on a hard topic": ready.count() - told.count(),
        }
    )
    rows = list(told.select_related("run__subject", "item").defer("text", "raw").order_by("code"))
    return rows, {reason: number for reason, number in left_out.items() if number}


def _sampled(rows: Sequence[Response], size: int, seed: str) -> set[str]:
    """The codes of a sample, in equal parts from the runs."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(f"{row.run.subject.code}/{row.run.condition}", []).append(str(row.code))
    return set(sample(groups, size, seed=seed))


def _rule(
    *, each: int, hard_topics: bool, unfound_percent: int | Decimal, size: int | None
) -> dict[str, Any]:
    """All that is decided beforehand, as it is registered."""
    whole = unfound_percent == int(unfound_percent)
    return {
        "per_response": each,
        "unfound_percent": int(unfound_percent) if whole else float(unfound_percent),
        "read_on": "first answers",
        "rerouted_to": "the one judge that is left",
        "findings_only_from": FINDINGS_FROM,
        "requotes": REQUOTES,
        "least_words": LEAST_WORDS,
        "least_characters": LEAST_CHARACTERS,
        "hard_topics": hard_topics,
        "sample": size,
        "prompt": prompt.version(),
    }


def _dealt(
    rows: Sequence[Response], judges: Sequence[Judge], configuration: Configuration, seed: str
) -> panel.Dealt:
    """Who judges what, checked by a second way of counting."""
    places = [panel.Place(str(row.code), row.run.subject.code, row.item.code) for row in rows]
    makers = {judge.name: maker_of(judge.subject) for judge in judges}
    subjects = {row.run.subject.code: maker_of(row.run.subject) for row in rows}
    each = EACH[configuration]
    try:
        if configuration == Configuration.SELF:
            return panel.deal_to_themselves(places, makers, subjects)
        dealt = panel.deal(places, makers, subjects, each=each, seed=seed)
    except panel.PanelRefused as why:
        raise JudgingRefused(*why.faults) from None
    if faults := panel.faults_of(dealt.judges, places, makers, subjects, each=each):
        raise JudgingRefused(*faults)
    return dealt


def _register(
    judging: Judging, judges: Sequence[Judge], places: Sequence[tuple[Response, int, str]]
) -> Judging:
    """Store a round with its panel and all it asks. In a transaction."""
    judging.rule["panel"] = {judge.name: judge.subject.code for judge in judges}
    members = [
        PanelJudge(judging=judging, judge=judge, number=number)
        for number, judge in enumerate(judges, start=1)
    ]
    member = {one.judge.name: one for one in members}
    order = {
        (name, str(response.code)): draw(judging.seed, f"order|{name}|{response.code}")
        for response, _, name in places
    }
    rows = []
    for name in member:
        own = [place for place in places if place[2] == name]
        own.sort(key=lambda place: order[(place[2], str(place[0].code))])
        rows += [
            Judgement(
                judging=judging,
                response=response,
                panel_judge=member[name],
                number=number,
                position=position,
            )
            for position, (response, number, _) in enumerate(own)
        ]
    judging.rule_hash = _registration(
        judging,
        [(one.number, one.judge.subject.code) for one in members],
        [
            (str(row.response.code), row.number, row.panel_judge.number, row.position)
            for row in rows
        ],
    )
    judging.save()
    PanelJudge.objects.bulk_create(members)
    Judgement.objects.bulk_create(rows, batch_size=500)
    tell("plan", judging, judging.made_by_id, rule=judging.rule_hash, responses=len(places))
    return judging


def tell(act: str, judging: Judging, by: int | None, **about: object) -> None:
    """Keep in the log what was done to a round."""
    log(EventKind.JUDGE, by, act=act, round=str(judging), **about)


def _judge(subject: Subject) -> Judge:
    """The judge that a subject is, named after those that there are."""
    known = Judge.objects.filter(subject=subject).select_related("subject").first()
    return known or Judge.objects.create(name=_free_name(), subject=subject)


def _free_name() -> str:
    taken = set(Judge.objects.values_list("name", flat=True))
    names = (
        f"judge-{''.join(letters)}"
        for length in count(1)
        for letters in product(ascii_lowercase, repeat=length)
    )
    return next(name for name in names if name not in taken)


def _code(wave: Wave, code: str, letter: str) -> str:
    """The code of a round, as named or the next that is free."""
    taken = set(Judging.objects.filter(wave=wave).values_list("code", flat=True))
    if not code:
        return next(f"{letter}{n}" for n in count(1) if f"{letter}{n}" not in taken)
    if code != slugify(code) or len(code) > 50:
        raise JudgingRefused(f"{code!r} is no code: take lower-case letters, digits and hyphens.")
    if code in taken:
        raise JudgingRefused(f"{wave} has a round {code} already. Give this one another --code.")
    return code


def _tokens(judging: Judging) -> int:
    """About how many tokens its first answers take to ask for, from a few of them."""
    rows = Judgement.objects.of(judging).order_by("position", "pk")
    number = rows.count()
    few = list(
        rows.select_related("response__item").prefetch_related("response__item__anchors")[:MEASURED]
    )
    sent = [
        tokens_sent(prompt.sent(shown(row.response), seed=judging.seed, key=str(row.pk)).messages)
        for row in few
    ]
    return round(sum(sent) / len(sent) * number)


def _listed(left_out: Mapping[str, int]) -> str:
    told = [f"{number} {reason}" for reason, number in left_out.items()]
    return ", ".join(told) or "it has none"
