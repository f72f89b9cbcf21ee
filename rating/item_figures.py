"""What ratings say about the items of a bank: pooled over subjects, never by subject.

Pooled is every wave in which an item with the same content was rated. Only responses with two
counted ratings enter; those with one are counted. While a wave is blinded and one subject alone
has been rated there, a mean would be that subject's, so it waits.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from django.conf import settings
from django.db.models import Count

from rating.guessing import is_unblinded
from rating.models import Exposure, Kind, Rating, Saw, User
from rating.report import Figure
from rating.standing import share_of
from rating.stats import items as statistics
from rating.stats.agreement import Undefined, Whole
from runs.models import Wave

FEWEST_RESPONSES: Final = 10  # below, the figures of an item are too few for a claim
ONE_SUBJECT: Final = (
    "All that is rated in blinded waves comes from one subject, so this would be a figure of that "
    "subject. It can be given once the wave is unblinded."
)
NONE_YET: Final = "No response has two ratings yet."


@dataclass(frozen=True, slots=True)
class Tally:
    """How many responses of one subject to one item, in one wave, had these two ratings."""

    item: str
    wave: int
    subject: int
    first: int
    second: int
    times: int


@dataclass(frozen=True)
class Use:
    """How often one level was chosen."""

    level: int
    count: int
    share: float


@dataclass(frozen=True)
class ItemFigures:
    """Each number with its interval where there is one, or the reason for none."""

    responses: int
    half_rated: int
    subjects: int
    waves: tuple[Wave, ...]
    mean: Figure
    spread: Figure
    exact: Figure
    within_one: Figure
    discrimination: Figure
    use: tuple[Use, ...] = ()
    no_use: str = ""

    @property
    def ratings(self) -> int:
        return 2 * self.responses

    @property
    def sufficient(self) -> bool:
        return self.responses >= FEWEST_RESPONSES

    @property
    def unused(self) -> tuple[int, ...]:
        return tuple(use.level for use in self.use if not use.count)

    @property
    def outside(self) -> bool:
        """Whether the item lies outside the declared limits, as far as its figures say."""
        agreement, mean = self.within_one.value, self.mean.value
        low = agreement is not None and 100 * agreement < settings.ITEM_WITHIN_ONE_PERCENT
        if mean is None:
            return low
        levels = [use.level for use in self.use]
        margin = settings.ITEM_MEAN_MARGIN
        return low or not levels[0] + margin <= mean <= levels[-1] - margin


class Ratings:
    """The rated responses of some items, counted in the database once."""

    def __init__(self, hashes: Collection[str]) -> None:
        counted = Rating.objects.counted().filter(response__item__content_hash__in=hashes)
        # One filter, so that all of it holds for the same second rating.
        both = counted.filter(slot=1).filter(
            response__ratings__kind=Kind.COUNTED,
            response__ratings__slot=2,
            response__ratings__superseded_by=None,
            response__ratings__withdrawn_at=None,
        )
        columns = (
            "response__item__content_hash",
            "response__run__wave",
            "response__run__subject",
            "anchor__level",
            "response__ratings__anchor__level",
        )
        self.tallies = [
            Tally(*row) for row in both.order_by().values_list(*columns).annotate(times=Count("pk"))
        ]
        self.given = dict(
            counted.order_by().values_list("response__item__content_hash").annotate(Count("pk"))
        )
        self.waves = (
            Wave.objects.in_bulk({tally.wave for tally in self.tallies}) if self.tallies else {}
        )

    def figures(self, item: str, scale: list[int], others: Collection[str] = ()) -> ItemFigures:
        """What is known of one item, by its content hash. ``others`` measure what it measures."""
        return figures_of(
            [tally for tally in self.tallies if tally.item == item],
            [tally for tally in self.tallies if tally.item in others and tally.item != item],
            scale,
            self.waves,
            given=self.given.get(item, 0),
        )

    def by_item(self, scale: list[int]) -> dict[str, ItemFigures]:
        """The figures of every item that has any, without its discrimination."""
        own: dict[str, list[Tally]] = {}
        for tally in self.tallies:
            own.setdefault(tally.item, []).append(tally)
        return {
            item: figures_of(tallies, [], scale, self.waves, given=self.given.get(item, 0))
            for item, tallies in own.items()
        }


def figures_of(
    own: list[Tally],
    others: list[Tally],
    scale: list[int],
    waves: dict[int, Wave],
    *,
    given: int = 0,
) -> ItemFigures:
    """The figures of one item from its tallies and those of the items it is held against."""
    crossed = _crossed(own, scale)
    responses = int(crossed.sum())
    blinded = {tally.subject for tally in own if not is_unblinded(waves[tally.wave])}
    withheld = ONE_SUBJECT if len(blinded) == 1 else ""
    return ItemFigures(
        responses=responses,
        half_rated=max(0, given - 2 * responses),
        subjects=len({tally.subject for tally in own}),
        waves=tuple(
            sorted(
                (waves[key] for key in {tally.wave for tally in own}), key=lambda wave: wave.code
            )
        ),
        mean=Figure(None, reason=withheld) if withheld else _mean(crossed, scale),
        spread=Figure(None, reason=withheld)
        if withheld
        else _figure(lambda: statistics.spread(crossed, scale)),
        exact=_share(statistics.same_level(crossed), responses),
        within_one=_share(statistics.within_one(crossed, scale), responses),
        discrimination=_discrimination(own, others, waves),
        use=() if withheld or not responses else _use(crossed, scale),
        no_use=withheld or ("" if responses else NONE_YET),
    )


def record_figures(person: User, waves: Iterable[Wave]) -> None:
    """Put on record that somebody has seen pooled figures of these waves."""
    Exposure.objects.bulk_create(
        Exposure(person=person, saw=Saw.FIGURES, wave=wave) for wave in waves
    )


def _crossed(tallies: Iterable[Tally], scale: list[int]) -> Whole:
    place = {level: index for index, level in enumerate(scale)}
    crossed = np.zeros((len(scale), len(scale)), dtype=np.int64)
    for tally in tallies:
        crossed[place[tally.first], place[tally.second]] += tally.times
    return crossed


def _figure(ask: Callable[[], float]) -> Figure:
    try:
        return Figure(ask())
    except Undefined as why:
        return Figure(None, reason=str(why))


def _mean(crossed: Whole, scale: list[int]) -> Figure:
    try:
        mean = statistics.mean_level(crossed, scale)
    except Undefined as why:
        return Figure(None, reason=str(why))
    try:
        limits = statistics.mean_limits(crossed, scale)
    except Undefined as why:
        return Figure(mean, reason=str(why))
    return Figure(mean, limits.low, limits.high)


def _share(count: int, n: int) -> Figure:
    if not n:
        return Figure(None, reason=NONE_YET)
    share = share_of([True] * count + [False] * (n - count))
    return Figure(count / n, share.low, share.high)


def _use(crossed: Whole, scale: list[int]) -> tuple[Use, ...]:
    use = statistics.anchor_use(crossed)
    return tuple(
        Use(level, int(count), int(count) / int(use.sum()))
        for level, count in zip(scale, use, strict=True)
    )


def _discrimination(own: list[Tally], others: list[Tally], waves: dict[int, Wave]) -> Figure:
    """Over the subjects of unblinded waves alone: it needs to know who said what."""
    if not own:
        return Figure(None, reason=NONE_YET)
    open_waves = {key for key, wave in waves.items() if is_unblinded(wave)}
    known = [tally for tally in own if tally.wave in open_waves]
    if not known:
        return Figure(
            None, reason="It needs to know who said what, and no wave of this item is unblinded."
        )
    item = _means_by_subject(known)
    by_item: dict[str, list[Tally]] = {}
    for tally in others:
        if tally.wave in open_waves:
            by_item.setdefault(tally.item, []).append(tally)
    # The same items for every subject: their means would differ by the items alone otherwise.
    rest = [
        means for means in map(_means_by_subject, by_item.values()) if means.keys() >= item.keys()
    ]
    if not rest:
        return Figure(
            None, reason="No other item that measures the same has been rated for these subjects."
        )
    subjects = sorted(item)
    return _figure(
        lambda: statistics.discrimination(
            np.array([item[one] for one in subjects], dtype=np.float64),
            np.array(
                [sum(means[one] for means in rest) / len(rest) for one in subjects],
                dtype=np.float64,
            ),
        )
    )


def _means_by_subject(tallies: Iterable[Tally]) -> dict[int, float]:
    sums: dict[int, list[float]] = {}
    for tally in tallies:
        kept = sums.setdefault(tally.subject, [0.0, 0.0])
        kept[0] += tally.times * (tally.first + tally.second) / 2
        kept[1] += tally.times
    return {subject: total / times for subject, (total, times) in sums.items()}
