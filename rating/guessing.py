"""Asking raters who made a response they have rated, and what the answers say of the blinding."""

from datetime import datetime

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet

from rating.at_hand import at_hand
from rating.blinding_report import Answer, BlindingReport, blinding_report
from rating.makers import is_drawn
from rating.models import Guess, Kind, Rating
from rating.queue import writing
from runs.models import Run, Wave

# Cards that look alike to a rater are asked about alike. Those apart from the queue are not.
ASKED_ABOUT = (Kind.COUNTED, Kind.SURPLUS, Kind.SEED, Kind.REPEAT)


def is_unblinded(wave: Wave) -> bool:
    """Whether figures of a wave may name who made what."""
    return wave.unblinded_at is not None


@at_hand
def _seed_of(run: int) -> str:
    return Run.objects.values_list("wave__seed", flat=True).get(pk=run)


def ask(rating: Rating, *, now: datetime) -> bool:
    """Whether the rater of a rating just stored is now to be asked who made the response.

    Each card is asked about once, also when its rating is undone and given again.
    """
    percent = settings.GUESS_PERCENT
    if percent <= 0 or rating.kind not in ASKED_ABOUT:
        return False
    response = rating.assignment.response if rating.assignment else rating.response
    if not is_drawn(_seed_of(response.run_id), str(response.code), percent):
        return False
    with writing():
        if Guess.objects.filter(rating__assignment=rating.assignment_id).exists():
            return False
        Guess.objects.create(rating=rating, asked_at=now)
        return True


def answer(guess: Guess, maker: str, sure: str, *, now: datetime) -> None:
    """Keep the first answer to a question: a maker, or "" for "I don't know"."""
    with writing():
        Guess.objects.filter(pk=guess.pk, answered_at=None).update(
            maker=maker, sure=sure, answered_at=now
        )


def asked_of(wave: Wave) -> QuerySet[Guess]:
    """Every question about a response of the wave."""
    return Guess.objects.filter(rating__response__run__wave=wave)


def counted_of(wave: Wave) -> QuerySet[Guess]:
    """The questions about counted ratings that stand: one for each rater and response."""
    stands = Rating.objects.counted().filter(assignment=OuterRef("rating__assignment"))
    return asked_of(wave).filter(Exists(stands), rating__kind=Kind.COUNTED)


def unasked_of(wave: Wave) -> int:
    """In how many counted ratings somebody said, without being asked, that they knew the maker."""
    return Rating.objects.of_wave(wave).counted().filter(flags__has_key="maker").count()


def blinding_of(wave: Wave) -> BlindingReport:
    """What the guesses say, from counted ratings that stand: one for each rater and response.

    Who made what is read only once the wave is unblinded.
    """
    asked = asked_of(wave)
    rows = (
        counted_of(wave)
        .order_by("asked_at", "pk")
        .values_list("rating__rater__pseudonym", "maker", "answered_at", "rating__response")
    )
    unblinded = is_unblinded(wave)
    developers = (
        dict(asked.values_list("rating__response", "rating__response__run__subject__developer"))
        if unblinded
        else {}
    )
    return blinding_report(
        [
            Answer(rater, maker, developers.get(response))
            for rater, maker, answered_at, response in rows
            if answered_at is not None
        ],
        asked=len(rows),
        apart=asked.count() - len(rows),
        unasked=unasked_of(wave),
        percent=settings.GUESS_PERCENT,
        unblinded=unblinded,
        seed=f"{wave.seed}|blinding",
    )
