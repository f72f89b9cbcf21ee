"""The scores of an unblinded wave: its rows out of the database, into the statistics.

A run is what is scored: one subject under one condition. Only responses with two counted ratings
enter; the others are counted. Before unblinding nobody sees a figure by subject, so there is none.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from django.db.models import Count

from rating.guessing import is_unblinded
from rating.models import Rating
from rating.stats.parity import Parity, Replies, parity
from rating.stats.resampling import Panel
from rating.stats.scores import Asked, Place, Score, item_table, scores_of
from rating.stats.separation import Separation, separate
from rating.stats.statements import Statements, statements
from runs.models import Pair, Response, Run, Status, Wave

RATINGS = 2  # of a response, each by another person
LOST = (Status.FILTERED, Status.FAILED, Status.MALFORMED)


@dataclass(frozen=True)
class WaveScores:
    """What the ratings of a wave of the Model Index amount to.

    ``separation`` is None where no run has a composite. Nothing but ``said`` is for publication.
    """

    scores: tuple[Score, ...]
    separation: Separation | None
    said: Statements
    half_rated: int


@dataclass(frozen=True)
class _Rated:
    """A response with its counted levels. ``run`` is the name of what is scored."""

    run: str
    item: int
    levels: tuple[int, ...]


class StillBlinded(ValueError):
    """A figure by subject was asked for too early."""


def wave_scores(wave: Wave) -> WaveScores:
    """Return the scores of every run of a wave, and what may be said of them.

    Raises
    ------
    StillBlinded
        If the wave is not unblinded.
    """
    names = _names(wave)
    rated, half_rated = _rated(wave, names)
    places, numbers = _places(wave)
    subjects = tuple(sorted(names.values()))
    rows = [
        (subjects.index(one.run), numbers[one.item], level) for one in rated for level in one.levels
    ]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
    table = item_table(
        columns[:, 0],
        columns[:, 1],
        columns[:, 2].astype(np.float64),
        (len(subjects), len(places)),
    )
    asked = _asked(wave, names)
    scores = scores_of(subjects, places, table, [asked[subject] for subject in subjects])
    kept = [row for row, score in enumerate(scores) if score.composite is not None]
    separation = None
    if kept:
        panel = Panel(
            tuple(subjects[row] for row in kept),
            tuple(place.dimension for place in places),
            table.means[kept],
        )
        separation = separate(
            panel,
            seed=f"{wave.seed}|items",
            pairs=_compared(wave, names, panel.subjects),
            correction=wave.declared.correction,
        )
    return WaveScores(tuple(scores), separation, statements(scores, separation), half_rated)


def wave_parity(wave: Wave) -> dict[str, Parity]:
    """Return the parity of every run of a wave of pairs, by its name.

    Raises
    ------
    StillBlinded
        If the wave is not unblinded.
    """
    names = _names(wave)
    rated, _ = _rated(wave, names)
    chambers = {row["code"]: row["name"] for row in wave.bank.meta.get("chambers", [])}
    arms = _arms(wave)
    replies: dict[str, dict[str, list[tuple[int, int, float]]]] = {
        name: defaultdict(list) for name in names.values()
    }
    for one in rated:
        chamber, pair, arm = arms[one.item]
        replies[one.run][chamber].append((pair, arm, float(np.mean(one.levels))))
    for run, item in (
        Response.objects.of_wave(wave).filter(status__in=LOST).values_list("run", "item")
    ):
        chamber, pair, arm = arms[item]
        replies[names[run]][chamber].append((pair, arm, float("nan")))
    return {
        name: parity(
            {chambers[code]: _replies(rows) for code, rows in own.items()},
            list(chambers.values()),
            lowest=min(wave.bank.levels),
            step=1 / (RATINGS * wave.trials),
            seed=f"{wave.seed}|{name}",
            margin=wave.declared.margin,
        )
        for name, own in sorted(replies.items())
    }


def _names(wave: Wave) -> dict[int, str]:
    """The name of each run: its subject, and its condition where the wave has several."""
    if not is_unblinded(wave):
        raise StillBlinded(f"{wave} is not unblinded, so there is no figure by subject of it yet.")
    rows = list(Run.objects.filter(wave=wave).values_list("pk", "subject__code", "condition"))
    several = len({condition for _, _, condition in rows}) > 1
    return {
        pk: f"{subject} ({condition})" if several else subject for pk, subject, condition in rows
    }


def _compared(
    wave: Wave, names: dict[int, str], kept: tuple[str, ...]
) -> list[tuple[str, str]] | None:
    """The declared comparisons of the runs that have a composite; None, for all, if none is."""
    if not wave.declared.comparisons:
        return None
    rows = Run.objects.filter(wave=wave).values_list("pk", "subject__snapshot", "condition")
    declared_as = {f"{snapshot}/{condition}": names[pk] for pk, snapshot, condition in rows}
    pairs = [(declared_as[each.a], declared_as[each.b]) for each in wave.declared.comparisons]
    return [pair for pair in pairs if set(pair) <= set(kept)]


def _rated(wave: Wave, names: dict[int, str]) -> tuple[list[_Rated], int]:
    """The responses with two counted ratings, and how many have one."""
    levels: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for response, run, item, level in (
        Rating.objects.of_wave(wave)
        .counted()
        .order_by("response", "slot")
        .values_list("response", "response__run", "response__item", "anchor__level")
    ):
        levels[response, run, item].append(level)
    rated = [
        _Rated(names[run], item, tuple(own))
        for (_, run, item), own in levels.items()
        if len(own) == RATINGS
    ]
    return rated, len(levels) - len(rated)


def _places(wave: Wave) -> tuple[list[Place], dict[int, int]]:
    """The items that were asked, in the order of their codes, and the number of each."""
    rows = sorted(
        wave.bank.items.filter(response__run__wave=wave)
        .order_by()
        .distinct()
        .values_list("code", "dimension", "subdimension", "pk")
    )
    places = [Place(code, dimension, subdimension) for code, dimension, subdimension, _ in rows]
    return places, {row[-1]: number for number, row in enumerate(rows)}


def _asked(wave: Wave, names: dict[int, str]) -> dict[str, Asked]:
    """How many replies of each run came or were lost; pending ones were not asked yet."""
    counts: dict[str, dict[str, int]] = {name: {} for name in names.values()}
    for run, status, count in (
        Response.objects.of_wave(wave)
        .exclude(status=Status.PENDING)
        .order_by()
        .values_list("run", "status")
        .annotate(Count("pk"))
    ):
        counts[names[run]][status] = count
    return {
        name: Asked(
            sum(own.values()),
            own.get(Status.FILTERED, 0),
            own.get(Status.FAILED, 0),
            own.get(Status.MALFORMED, 0),
        )
        for name, own in counts.items()
    }


def _arms(wave: Wave) -> dict[int, tuple[str, int, int]]:
    """For each item of a pair its chamber, the number of the pair, and its arm."""
    arms = {}
    for number, (chamber, a, b) in enumerate(
        Pair.objects.filter(bank=wave.bank)
        .order_by("code")
        .values_list("chamber", "arm_a", "arm_b")
    ):
        arms[a], arms[b] = (chamber, number, 0), (chamber, number, 1)
    return arms


def _replies(rows: Iterable[tuple[int, int, float]]) -> Replies:
    pairs, arms, levels = zip(*rows, strict=True)
    return Replies(np.array(pairs), np.array(arms), np.array(levels, dtype=np.float64))
