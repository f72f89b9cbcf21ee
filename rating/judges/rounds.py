"""A round of judging from its start to its end: who is left out, what goes to another, what it showed."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import uuid4

from django.db import transaction
from django.utils import timezone

from rating.judges.panel import left_for
from rating.judges.planning import JudgingRefused, maker_of, tell
from rating.judges.tables import (
    Answered,
    Judgement,
    Judging,
    JudgingState,
    PanelJudge,
    Provenance,
    Purpose,
)
from rating.judges.validity import (
    Bridge,
    Given,
    Outcome,
    Validity,
    bridge,
    outcome,
    validity,
)

OPEN = (JudgingState.ASKING, JudgingState.STOPPED)


def stop(judging: Judging, reason: str, *, by: int | None = None) -> bool:
    """Ask no more, and say why; whether it was being asked. What is pending stays so."""
    with transaction.atomic():
        stopped = Judging.objects.filter(pk=judging.pk, state=JudgingState.ASKING).update(
            state=JudgingState.STOPPED, stop_reason=reason, ended_at=timezone.now()
        )
        if stopped:
            tell("stop", judging, by, reason=reason)
    return bool(stopped)


def close_if_done(judging: Judging, *, now: datetime) -> bool:
    """Apply the rule once nothing is pending; whether something was given to another judge.

    In the transaction that stored the last answer. Doing it again changes nothing.
    """
    if Judgement.objects.of(judging).pending().exists():
        return False
    found = locked(judging)
    if found.state not in OPEN:
        return False
    decided = found.panel.filter(excluded_at__isnull=False).exists()
    if not decided and _exclude(found, now) and _reroute(found):
        return True
    Judging.objects.filter(pk=found.pk).update(
        state=JudgingState.DONE, stop_reason="", ended_at=now
    )
    tell("end", found, None)
    return False


def to_ask_again(judging: Judging) -> Iterable[Judgement]:
    """The newest answers that carry no quote by the rule, where their judge was asked once."""
    rows = Judgement.objects.of(judging).current().filter(panel_judge__excluded_at=None)
    return (
        rows.exclude(provenance=Provenance.REQUOTED)
        .filter(quote_valid=False)
        .select_related("panel_judge", "response")
        .order_by("panel_judge", "position")
    )


def _exclude(judging: Judging, now: datetime) -> list[PanelJudge]:
    """Leave out the judges that the rule says; return them."""
    percent = percent_of(judging)
    out = []
    members = {one.judge.name: one for one in judging.panel.select_related("judge")}
    for measured in measured_on_first_answers(judging):
        if measured.exceeds(percent):
            one = members[measured.judge]
            one.excluded_at, one.reason = now, measured.sentence(percent)
            one.save(update_fields=["excluded_at", "reason"])
            tell("exclude", judging, None, judge=measured.judge, reason=one.reason)
            out.append(one)
    return out


def _reroute(judging: Judging) -> int:
    """Give what an excluded judge judged to the one that is left, where one is; return how many."""
    routes = [(row, one) for row, one, _ in routes_of(judging) if one is not None]
    supersede((row, one, Provenance.REROUTED) for row, one in routes)
    if routes:
        tell("reroute", judging, None, answers=len(routes))
    return len(routes)


def routes_of(judging: Judging) -> list[tuple[Judgement, PanelJudge | None, str]]:
    """For each place that an excluded judge still has: who takes it, or why nobody does."""
    members = list(judging.panel.select_related("judge__subject"))
    out = {one.judge.name for one in members if one.excluded_at}
    if outcome(sorted(out)) is not Outcome.REROUTED:
        return []
    judges = {one.judge.name: maker_of(one.judge.subject) for one in members}
    member = {one.judge.name: one for one in members}
    current = Judgement.objects.of(judging).current()
    taken: dict[int, set[str]] = {}
    for response, name in current.values_list("response_id", "panel_judge__judge__name"):
        taken.setdefault(response, set()).add(name)
    found = []
    rows = current.filter(panel_judge__excluded_at__isnull=False).order_by("position", "pk")
    for row in rows.select_related("response__run__subject"):
        subject = maker_of(row.response.run.subject)
        name, why = left_for(judges, subject, excluded=out, taken=taken[row.response_id] - out)
        found.append((row, member[name] if name else None, why))
    return found


def supersede(rows: Iterable[tuple[Judgement, PanelJudge, str]]) -> None:
    """Ask again in new rows, each of which stands for the old one from now on."""
    for old, one, provenance in rows:
        key = uuid4()
        Judgement.objects.filter(pk=old.pk).update(superseded_by=key)
        Judgement.objects.create(
            id=key,
            judging_id=old.judging_id,
            response_id=old.response_id,
            panel_judge=one,
            number=old.number,
            position=old.position,
            provenance=provenance,
        )


@dataclass(frozen=True)
class RoundReport:
    """What a round showed of its judges. ``first`` decides; ``after`` is told beside it."""

    percent: int | Decimal
    first: tuple[Validity, ...]
    after: tuple[Validity, ...]
    excluded: dict[str, str]
    outcome: Outcome
    states: dict[str, int]
    faults: dict[str, int]
    not_rerouted: dict[str, int]
    tokens: dict[str, tuple[int, int]]
    pending: int


def report_of(judging: Judging) -> RoundReport:
    """Validity, exclusions and faults of a round, as far as it is."""
    members = list(judging.panel.select_related("judge"))
    out = {one.judge.name: one.reason for one in members if one.excluded_at}
    rows = Judgement.objects.of(judging)
    states = Counter(rows.current().values_list("state", flat=True))
    faults = Counter(rows.exclude(fault_kind="").values_list("fault_kind", flat=True))
    reasons = Counter(why for _, one, why in routes_of(judging) if one is None)
    return RoundReport(
        percent_of(judging),
        measured_on_first_answers(judging),
        measured_after_requotes(judging),
        out,
        outcome(sorted(out)),
        dict(sorted(states.items())),
        dict(sorted(faults.items())),
        dict(sorted(reasons.items())),
        {one.judge.name: (one.tokens_in, one.tokens_out) for one in members},
        states[Answered.PENDING],
    )


def measured_on_first_answers(judging: Judging) -> tuple[Validity, ...]:
    """The quotes of each judge in its first answers: all that the rule reads."""
    ended = Judgement.objects.of(judging).originals().exclude(state=Answered.PENDING)
    return validity(_names(judging), (_given(row) for row in _quotes(ended)))


def measured_after_requotes(judging: Judging) -> tuple[Validity, ...]:
    """The same with each answer that was asked for again in place of the first. It decides nothing."""
    rows = list(_quotes(Judgement.objects.of(judging).exclude(state=Answered.PENDING)))
    newest = {
        (row["panel_judge__judge__name"], row["response_id"]): row
        for row in sorted(rows, key=lambda row: row["provenance"] == Provenance.REQUOTED)
        if row["provenance"] != Provenance.REROUTED
    }
    return validity(_names(judging), (_given(row) for row in newest.values()))


def _quotes(rows: object) -> Iterable[dict[str, object]]:
    return rows.values(  # type: ignore[attr-defined, no-any-return]
        "panel_judge__judge__name", "response_id", "provenance", "quote_found", "quote_valid"
    )


def _given(row: dict[str, object]) -> Given:
    return Given(
        str(row["panel_judge__judge__name"]), str(row["quote_found"]), bool(row["quote_valid"])
    )


def _names(judging: Judging) -> list[str]:
    return list(judging.panel.order_by("number").values_list("judge__name", flat=True))


def percent_of(judging: Judging) -> int | Decimal:
    """The exclusion rule of a round."""
    said = judging.rule["unfound_percent"]
    return said if isinstance(said, int) else Decimal(str(said))


def bridge_of(judging: Judging) -> tuple[Bridge, ...]:
    """What a bridge shows: of each judge, and of all together. Raises ``JudgingRefused``."""
    if judging.purpose != Purpose.BRIDGE or judging.bridge_of is None:
        raise JudgingRefused(
            f"{judging} is no bridge. Plan one with: judge bridge WAVE --of WAVE/ROUND"
        )
    earlier = {(response, name): level for response, name, level in _levels(judging.bridge_of)}
    pairs: dict[str, list[tuple[int, int]]] = {name: [] for name in _names(judging)}
    for response, name, level in _levels(judging):
        if (response, name) in earlier:
            pairs[name].append((earlier[(response, name)], level))
    every = [pair for own in pairs.values() for pair in own]
    return (*(bridge(name, own) for name, own in pairs.items()), bridge("all", every))


def _levels(judging: Judging) -> Iterable[tuple[int, str, int]]:
    return (
        Judgement.objects.of(judging)
        .standing()
        .values_list("response_id", "panel_judge__judge__name", "anchor__level")
    )


def locked(judging: Judging) -> Judging:
    return (
        Judging.objects.select_for_update(no_key=True, of=("self",))
        .select_related("wave__bank")
        .get(pk=judging.pk)
    )
