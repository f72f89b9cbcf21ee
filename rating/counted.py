"""The counted ratings of a wave as columns of numbers, read once and kept until one changes."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final

import numpy as np
from django.core.cache import cache
from django.db.models import CharField, Func
from django.utils import timezone

from rating.breakdown import NONE, Columns
from rating.dimensions import dimensions_of
from rating.models import Rating, User
from rating.stats.agreement import Whole
from runs.canonical import digest
from runs.models import Anchor, Run, Wave

KEPT: Final = 3600  # seconds
QUARTER: Final = 15  # minutes; in every time zone a day begins on one


def state_of(wave: Wave) -> str:
    """A word that changes whenever a rating of the wave is given, taken back or counted anew."""
    state = Rating.objects.filter(response__run__in=_runs(wave)).state()
    # By what the wave is, not by its number: another database may share the cache.
    return digest(
        [wave.code, str(wave.created_at), wave.bank.content_hash, *map(str, state.values())]
    )


def columns_of(wave: Wave, state: str) -> Columns:
    """The wave's counted ratings by now, in two statements where they are not kept yet."""
    key = f"counted:{state}:{timezone.get_current_timezone_name()}"
    kept: Columns | None = cache.get(key)
    if kept is None:
        kept = _read(wave)
        cache.set(key, kept, KEPT)
    return kept


def _read(wave: Wave) -> Columns:
    names, dimension_of = dimensions_of(wave)
    items = list(wave.bank.items.values_list("pk", "code"))
    runs = dict(_runs(wave).values_list("pk", "subject"))
    anchors = dict(Anchor.objects.filter(item__bank=wave.bank).values_list("pk", "level"))
    rows = list(
        Rating.objects.counted()
        .filter(response__run__in=list(runs))
        .order_by("response", "slot")
        .values_list(
            "response", "response__item", "response__run", "rater", "anchor", Minute("rated_at")
        )
    )
    unit, item, run, rater, anchor, minute = zip(*rows, strict=True) if rows else ((),) * 6
    step = {level: place for place, level in enumerate(wave.bank.levels)}
    people = dict(User.objects.filter(pk__in=set(rater)).values_list("pk", "pseudonym"))
    units, first, times = np.unique(_whole(unit), return_index=True, return_counts=True)
    second = np.where(times == 2, first + 1, NONE)
    side = np.stack([first, second], axis=1)

    def both(column: Whole) -> Whole:
        """Of each response its first and its second rating, -1 where there is no second."""
        padded = np.append(column, NONE)  # so that -1 finds -1
        return np.asarray(padded[side])

    def place_of(names: Iterable[int]) -> Callable[[int], int]:
        return {name: place for place, name in enumerate(names)}.__getitem__

    return Columns(
        scale=tuple(wave.bank.levels),
        items=tuple(code for _, code in items),
        dimensions=tuple(names),
        dimension_of=_whole(names.index(dimension_of[pk]) for pk, _ in items),
        raters=tuple(people.values()),
        unit=units,
        item=_mapped(place_of(pk for pk, _ in items), item)[first],
        subject=_mapped(runs.__getitem__, run)[first],
        rater=both(_mapped(place_of(people), rater)),
        place=both(_mapped(lambda one: step[anchors[one]], anchor)),
        day=both(_days(minute)),
    )


def _runs(wave: Wave) -> Any:
    return Run.objects.filter(wave=wave)


def _mapped(to: Callable[[int], int], column: Iterable[int]) -> Whole:
    """What each value becomes, asked once for each distinct one."""
    distinct, place = np.unique(_whole(column), return_inverse=True)
    return _whole(map(to, distinct.tolist()))[place]


def _days(minutes: Iterable[str]) -> Whole:
    """The ordinal of each minute's day as the site has it, asked once for each quarter hour."""
    zone = timezone.get_current_timezone()
    quarters = np.array(list(minutes), dtype="datetime64[m]").astype(np.int64) // QUARTER

    def day(quarter: int) -> int:
        return datetime.fromtimestamp(quarter * QUARTER * 60, zone).toordinal()

    return _mapped(day, quarters.tolist())


class Minute(Func):
    """A moment to the minute, in UTC, as text: a hundred thousand moments take a second to read."""

    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="substr(%(expressions)s, 1, 16)")

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        utc = "to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')"
        return self.as_sql(compiler, connection, template=utc)


def _whole(values: Iterable[Any]) -> Whole:
    return np.fromiter(values, dtype=np.int64)
