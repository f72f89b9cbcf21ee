"""What the probes of a wave have brought: how far they are, and what they show of each subject."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from django.db.models import Count, Q

from runs.exposure import Answered, Contamination, Part, contamination, disclaims, why_no_choice
from runs.models import Probe, ProbeKind, Probing, Provider, Status, Subject, Wave
from runs.probes import materials_of

NOT_PUT = "The probes have not been put. Put them with: run probe WAVE."
IMPORTED = "Its responses are imported, so that it cannot be asked."


@dataclass(frozen=True)
class ProbesProgress:
    """How far the probes of one subject are."""

    subject: str
    state: str
    stop_reason: str
    ended: int
    total: int


def probes_progress(wave: Wave) -> tuple[ProbesProgress, ...]:
    """Those of each subject that has been asked, from A to Z. An asking again counts anew."""
    return tuple(
        ProbesProgress(
            probing.run.subject.code,
            probing.state,
            probing.stop_reason,
            probing.ended,
            probing.total,
        )
        for probing in Probing.objects.filter(run__wave=wave)
        .select_related("run__subject")
        .annotate(
            total=Count("run__probes"),
            ended=Count("run__probes", filter=~Q(run__probes__status=Status.PENDING)),
        )
        .order_by("run__subject__code")
    )


def probes_state(wave: Wave) -> list[object]:
    """Changes whenever an answer comes or another subject is asked: what a kept report rests on."""
    rows = Probe.objects.of_wave(wave)
    asked = Probing.objects.filter(run__wave=wave).order_by("pk").values_list("run", "state")
    return [list(asked), rows.count(), rows.pending().count()]


def contamination_of(wave: Wave) -> dict[str, Contamination]:
    """What both probes show of each subject of a wave, by its code, from A to Z."""
    no_choice = why_no_choice(materials_of(wave.bank))
    asked = set(Probing.objects.filter(run__wave=wave).values_list("run__subject", flat=True))
    rows = (
        Probe.objects.of_wave(wave)
        .exclude(kind=ProbeKind.DETERMINISM)
        .select_related("item", "run")
        .order_by("run__subject", "kind", "number", "ask")
    )
    by_subject = {
        subject: answers_in(of_subject)
        for subject, of_subject in groupby(rows, key=lambda row: row.run.subject_id)
    }
    return {
        subject.code: contamination(
            by_subject.get(subject.pk, []),
            no_choice=no_choice,
            why_none="" if subject.pk in asked else _why_none(subject),
        )
        for subject in Subject.objects.filter(run__wave=wave).distinct().order_by("code")
    }


def answers_in(rows: Iterable[Probe]) -> list[Answered]:
    """One answer for each question: the first that could be read, or else why there is none.

    The rows of a question stand together, in the order of asking.
    """
    answered = []
    for _, askings in groupby(rows, key=lambda row: (row.kind, row.number)):
        tries = list(askings)
        row = next((one for one in tries if one.score is not None), tries[-1])
        answered.append(
            Answered(
                Part(row.part),
                row.item.code,
                row.score,
                "" if row.score is not None else _why_not(row),
                disclaimed=row.kind == ProbeKind.RECALL and disclaims(row.text),
            )
        )
    return answered


def repeated_texts(wave: Wave) -> dict[str, tuple[str, list[str], int]]:
    """For each subject asked the same again and again: the item, what came, and how many calls."""
    rows = (
        Probe.objects.of_wave(wave)
        .filter(kind=ProbeKind.DETERMINISM)
        .order_by("run__subject__code", "number")
        .values_list("run__subject__code", "item__code", "status", "text")
    )
    found: dict[str, tuple[str, list[str], int]] = {}
    for subject, item, status, text in rows:
        _, texts, calls = found.get(subject, (item, [], 0))
        if status == Status.COMPLETED:
            texts.append(text)
        found[subject] = (item, texts, calls + 1)
    return found


def _why_none(subject: Subject) -> str:
    return IMPORTED if subject.provider == Provider.IMPORT else NOT_PUT


def _why_not(row: Probe) -> str:
    if row.status == Status.PENDING:
        return "not answered yet"
    if row.status != Status.COMPLETED:
        return row.status
    asked = f"asked {row.ask} times" if row.ask > 1 else "asked once"
    what = "is one option's letter" if row.kind == ProbeKind.CHOICE else "says anything"
    return f"{asked}, and no answer {what}"
