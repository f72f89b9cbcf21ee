"""The rows behind what a report says of the subjects themselves, out of the database."""

from collections.abc import Iterator
from itertools import combinations

from django.db.models import Avg, Count, QuerySet

from rating.models import Rating
from rating.probe_report import (
    ByItem,
    ProbeReport,
    RerunRow,
    SensitivityRow,
    probe_report,
    rerun_row,
    sameness_row,
    sensitivity_row,
)
from runs.models import Run, Wave
from runs.probed import contamination_of, repeated_texts

PER_RESPONSE = 2  # ratings that count; a response with fewer is in no comparison


def probes_of(wave: Wave) -> ProbeReport:
    """What is known by now of the subjects of a wave."""
    contamination = contamination_of(wave)
    if wave.unblinded_at is None:
        return probe_report(contamination, (), (), (), unblinded=False)
    return probe_report(
        contamination,
        (
            sameness_row(subject, item, texts, calls)
            for subject, (item, texts, calls) in repeated_texts(wave).items()
        ),
        reruns_of(wave),
        sensitivities_of(wave),
        unblinded=True,
    )


def reruns_of(wave: Wave) -> Iterator[RerunRow]:
    """Compare all runs of one subject under the same system message, in this and earlier waves.

    An earlier wave counts once it is unblinded too. Items are the same where their content is.
    """
    here = list(_runs().filter(wave=wave))
    earlier = _runs().filter(
        wave__unblinded_at__isnull=False, subject__in=[run.subject_id for run in here]
    )
    pairs = [
        *combinations(here, 2),
        *((other, run) for run in here for other in earlier.filter(wave__lt=wave.pk)),
    ]
    for first, second in pairs:
        alike = first.subject_id == second.subject_id
        if alike and first.system_message == second.system_message:
            yield rerun_row(
                second.subject.code,
                (_name(first), _name(second)),
                (levels_of(first), levels_of(second)),
                seed=f"{wave.seed}|rerun|{first}|{second}",
            )


def sensitivities_of(wave: Wave) -> Iterator[SensitivityRow]:
    """Compare each condition that was to move a subject with the first that was not."""
    runs = list(_runs().filter(wave=wave))
    for altered in (run for run in runs if run.expected):
        plain = next(
            (run for run in runs if run.subject_id == altered.subject_id and not run.expected), None
        )
        yield sensitivity_row(
            altered.subject.code,
            altered.condition,
            altered.expected,
            altered.expected_why,
            (levels_of(plain) if plain else {}, levels_of(altered)),
        )


def levels_of(run: Run) -> ByItem:
    """The mean level of each response of a run that was rated twice, by its item's content."""
    levels: dict[str, list[float]] = {}
    for item, _, level in (
        Rating.objects.filter(response__run=run)
        .counted()
        .order_by("response__item__content_hash", "response__trial")
        .values_list("response__item__content_hash", "response__trial")
        .annotate(level=Avg("anchor__level"), n=Count("pk"))
        .filter(n=PER_RESPONSE)
        .values_list("response__item__content_hash", "response__trial", "level")
    ):
        levels.setdefault(item, []).append(level)
    return levels


def _runs() -> QuerySet[Run]:
    return Run.objects.select_related("subject", "wave").order_by("subject__code", "pk")


def _name(run: Run) -> str:
    return f"{run.wave.code}, {run.condition}"
