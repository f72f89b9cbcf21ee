"""The rounds of judging of a wave: who judges, how far they are, how far their quotes can be trusted.

Counted in the database, a few statements for all rounds together. Nothing here is by subject, and
single responses stand under their random codes without the names of their judges: who judged a
response tells of whose family it is not.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, Q, Sum

from rating.guessing import is_unblinded
from rating.judges.tables import (
    Answered,
    Found,
    Judgement,
    Judging,
    PanelJudge,
    Provenance,
    Purpose,
)
from rating.judges.validity import Validity, outcome
from rating.models import Rating
from rating.readings import Words
from runs.masks import masked_part
from runs.models import Response, Wave

MOST: Final = 50  # candidates for harm that are listed
UNSAID: Final = "one of its judges"


@dataclass(frozen=True)
class PanelLine:
    """One judge of a round: what it was given, what came, and whether it was left out."""

    name: str
    model: str
    family: str
    given: int
    answered: int
    pending: int
    faults: int
    requoted: int
    rerouted: int
    validity: Validity
    excluded: str
    tokens_in: int
    tokens_out: int

    @property
    def unfound_percent(self) -> str:
        percent = self.validity.percent
        return "not measured" if percent is None else f"{percent:.1f}%"


@dataclass(frozen=True)
class Candidate:
    """A response that a judge put at the lowest level, and whether two people have rated it."""

    code: str
    item: str
    judges: int
    people: int


@dataclass(frozen=True)
class Round:
    """One round of judging."""

    judging: Judging
    panel: tuple[PanelLine, ...]
    faults: tuple[tuple[str, int], ...]
    candidates: tuple[Candidate, ...]
    n_candidates: int
    lowest: int

    @property
    def total(self) -> int:
        return sum(line.given for line in self.panel)

    @property
    def pending(self) -> int:
        return sum(line.pending for line in self.panel)

    @property
    def left_out(self) -> list[PanelLine]:
        return [line for line in self.panel if line.excluded]

    @property
    def outcome(self) -> str:
        """What the rule makes of the round, in a sentence."""
        said = str(outcome([line.name for line in self.left_out]))
        return f"{said[0].upper()}{said[1:]}."

    @property
    def percent(self) -> str:
        """The declared share of unfound quotes that leaves a judge out."""
        return str(self.judging.rule.get("unfound_percent", ""))

    @property
    def has_begun(self) -> bool:
        return self.judging.started_at is not None

    @property
    def is_bridge(self) -> bool:
        return self.judging.purpose == Purpose.BRIDGE

    @property
    def tokens(self) -> tuple[int, int]:
        return sum(line.tokens_in for line in self.panel), sum(
            line.tokens_out for line in self.panel
        )


def rounds(wave: Wave) -> list[Round]:
    """All rounds of a wave, the newest first."""
    judgings = list(Judging.objects.filter(wave=wave).order_by("-planned_at", "-pk"))
    panels = _panels(wave)
    faults = _faults(wave)
    lowest = int(min(wave.bank.levels))
    found = []
    for judging in judgings:
        candidates, n = _candidates(judging, lowest)
        found.append(
            Round(
                judging,
                tuple(panels.get(judging.pk, ())),
                tuple(faults.get(judging.pk, ())),
                candidates,
                n,
                lowest,
            )
        )
    return found


def _panels(wave: Wave) -> dict[int, list[PanelLine]]:
    first = Q(provenance=Provenance.ORIGINAL)
    quoted = first & Q(state=Answered.ANSWERED)
    broken = ~Q(state__in=[Answered.ANSWERED, Answered.PENDING])

    def times(condition: Q) -> Count:
        return Count("pk", filter=condition)

    counted = {
        row["panel_judge"]: row
        for row in Judgement.objects.filter(judging__wave=wave)
        .order_by()
        .values("panel_judge")
        .annotate(
            given=Count("pk"),
            answered=times(Q(state=Answered.ANSWERED)),
            pending=times(Q(state=Answered.PENDING)),
            faults=times(broken),
            requoted=times(Q(provenance=Provenance.REQUOTED)),
            rerouted=times(Q(provenance=Provenance.REROUTED)),
            verbatim=times(quoted & Q(quote_found=Found.VERBATIM)),
            folded=times(quoted & Q(quote_found=Found.FOLDED)),
            none=times(quoted & Q(quote_found=Found.NONE)),
            short=times(quoted & ~Q(quote_found=Found.NONE) & Q(quote_valid=False)),
            unread=times(first & broken),
            into=Sum("tokens_in"),
            out=Sum("tokens_out"),
        )
    }
    found: dict[int, list[PanelLine]] = {}
    rows = PanelJudge.objects.filter(judging__wave=wave).select_related("judge__subject")
    for one in rows.order_by("judging", "number"):
        found.setdefault(one.judging_id, []).append(_panel_line(one, counted.get(one.pk)))
    return found


def _panel_line(one: PanelJudge, counted: Mapping[str, Any] | None) -> PanelLine:
    """A judge that was given nothing has no row of counts."""
    n: Counter[str] = Counter({name: times or 0 for name, times in (counted or {}).items()})
    return PanelLine(
        name=one.judge.name,
        model=one.judge.subject.code,
        family=one.judge.subject.family,
        given=n["given"],
        answered=n["answered"],
        pending=n["pending"],
        faults=n["faults"],
        requoted=n["requoted"],
        rerouted=n["rerouted"],
        validity=Validity(
            judge=one.judge.name,
            as_written=n["verbatim"],
            after_folding=n["folded"],
            unfound=n["none"],
            too_short=n["short"],
            unread=n["unread"],
        ),
        excluded=one.reason,
        tokens_in=n["into"],
        tokens_out=n["out"],
    )


def _faults(wave: Wave) -> dict[int, list[tuple[str, int]]]:
    """How often each kind of fault came, by round, from A to Z."""
    found: dict[int, list[tuple[str, int]]] = {}
    rows = (
        Judgement.objects.filter(judging__wave=wave)
        .exclude(fault_kind="")
        .order_by("judging", "fault_kind")
        .values_list("judging", "fault_kind")
        .annotate(Count("pk"))
    )
    for judging, kind, times in rows:
        found.setdefault(judging, []).append((kind.replace("-", " "), times))
    return found


def _candidates(judging: Judging, lowest: int) -> tuple[tuple[Candidate, ...], int]:
    """The responses that a judge put at the lowest level, in the order of their random codes."""
    rows = list(
        Judgement.objects.of(judging)
        .standing()
        .filter(anchor__level=lowest)
        .order_by("response__code")
        .values_list("response", "response__code", "response__item__code")
        .annotate(Count("pk"))
    )
    shown = sorted(rows, key=lambda row: str(row[1]))[:MOST]
    people = dict(
        Rating.objects.counted()
        .filter(response__in=[response for response, *_ in shown])
        .order_by()
        .values_list("response")
        .annotate(Count("pk"))
    )
    return (
        tuple(
            Candidate(str(code), item, times, people.get(response, 0))
            for response, code, item, times in shown
        ),
        len(rows),
    )


# One response


@dataclass(frozen=True)
class Opened:
    """What a judge gave one response. ``judge`` is not said while the wave is blinded."""

    judge: str
    number: int
    provenance: str
    state: str
    stands: bool
    why_not: str
    level: int | None
    label: str
    description: str
    quote: Words | None
    quote_found: str
    reason: str
    fault: str


def opened(judging: Judging, response: Response) -> list[Opened]:
    """Every judgement of a response in a round: the newest of each judge, then what it replaced."""
    told = is_unblinded(judging.wave)
    rows = (
        Judgement.objects.of(judging)
        .filter(response=response)
        .select_related("panel_judge__judge", "anchor")
        .order_by("number", "answered_at", "pk")
    )
    return list(_opened(rows, response, told=told))


def _opened(rows: Iterable[Judgement], response: Response, *, told: bool) -> Iterator[Opened]:
    for row in sorted(rows, key=lambda own: (own.number, own.superseded_by_id is not None)):
        why_not = ""
        if row.superseded_by_id is not None:
            why_not = "It was replaced by a later one."
        elif row.panel_judge.excluded_at is not None:
            why_not = "Its judge was left out by the rule."
        quote = None
        if row.quote_start is not None and row.quote_end is not None:
            quote = Words(_slice(response, row.quote_start, row.quote_end), absence=False)
        elif row.quote_given:
            quote = Words(row.quote_given, absence=False)
        yield Opened(
            row.panel_judge.judge.name if told else UNSAID,
            row.number,
            row.get_provenance_display(),
            row.get_state_display(),
            row.state == Answered.ANSWERED and not why_not,
            why_not,
            row.anchor.level if row.anchor else None,
            row.anchor.label if row.anchor else "",
            row.anchor.description if row.anchor else "",
            quote,
            row.get_quote_found_display() if row.quote_found else "",
            row.reason,
            row.fault,
        )


def _slice(response: Response, start: int, end: int) -> str:
    """The words of a quote, as the judge had them."""
    return masked_part(response.text[start:end], response.mask, start, end)
