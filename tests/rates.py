"""How often each verdict is right, over studies made up with known truth.

A scenario plays one study and says what was found in it. Each finding has a declared rate: at most
so often where it would be wrong, at least so often where it would be right. `tests.bench rates`
plays thousands and writes the table; the proof tests play hundreds and check the declared rates.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from rating.stats import refutation
from rating.stats.agreement import alpha_for_ordinal, interval, tally_rows
from rating.stats.parity import Finding, Replies, parity, permuted_p
from rating.stats.permutation import chance_test
from rating.stats.pools import Family
from rating.stats.scores import ORDER
from rating.stats.separation import separate
from rating.stats.verdict import Outcome
from tests.studies import DIMENSIONS, World, panel, rated

PLACES = np.array([ORDER.index(code) for code in DIMENSIONS])
CHAMBERS = tuple(f"{number}" for number in range(1, 9))
EVEN, UNEVEN = World(), World(even=False)


@dataclass(frozen=True)
class Rate:
    """A finding and how often it may come, or has to."""

    of: str
    most: float | None = None
    least: float | None = None

    @property
    def declared(self) -> str:
        if self.most is not None:
            return f"at most {self.most:.1%}"
        return f"at least {self.least:.0%}" if self.least is not None else "not promised"


@dataclass(frozen=True)
class Scenario:
    """One kind of study: what is true in it, what may be found, and how to play one."""

    part: str
    truth: str
    rates: tuple[Rate, ...]
    play: Callable[[np.random.Generator], tuple[bool, ...]]

    def count(self, studies: int, start: int = 0) -> list[int]:
        """How often each was found."""
        found: Counter[int] = Counter()
        for number in range(start, start + studies):
            seed = hashlib.sha256(f"{self.part}|{self.truth}|{number}".encode()).digest()
            outcome = self.play(np.random.default_rng(list(seed)))
            found.update(place for place, yes in enumerate(outcome) if yes)
        return [found[place] for place in range(len(self.rates))]


def _two_alike(chance, *, level, world):
    found = separate(panel(chance, [level, level], world), seed=_seed(chance), replicates=1000)
    pair = found.pairs[0]
    return pair.separated, pair.percentile.excludes_zero


def _four_alike(chance, *, level):
    found = separate(panel(chance, [level] * 4), seed=_seed(chance), replicates=2000)
    return (
        any(pair.separated_corrected for pair in found.pairs),
        any(pair.corrected_percentile.excludes_zero for pair in found.pairs),
        any(pair.separated_corrected for pair in found.dimension_pairs),
        any(pair.corrected_percentile.excludes_zero for pair in found.dimension_pairs),
    )


def _one_dimension(chance):
    found = separate(panel(chance, [3, 3]), seed=_seed(chance), replicates=1000)
    own = next(pair for pair in found.dimension_pairs if pair.of == "INT")
    return own.separated, own.percentile.excludes_zero


def _apart(chance, *, by):
    pair = separate(panel(chance, [3, 3 - by]), seed=_seed(chance), replicates=1000).pairs[0]
    return pair.separated, pair.studentised.low <= _true_difference(by) <= pair.studentised.high


@cache
def _true_difference(by):
    """In the composite, below its premium: of very many items, since levels are cut to the scale."""
    study = panel(np.random.default_rng(11), [3, 3 - by], dimensions=DIMENSIONS * 1000)
    means = [study.means[:, study.items_in(code)].mean(axis=1) for code in ORDER]
    return 25 * float(np.mean(means, axis=0) @ [1, -1])


def _chamber(chance, gap, *, world=EVEN, between=0.2, lose=0.0):
    """Ten pairs of five trials; ``between`` is what each arm of a pair has of its own."""
    pairs, trials = 10, 5
    truth = np.repeat(chance.normal(3, 0.5, pairs)[:, None], 2, axis=1) - [0, gap]
    truth = truth + chance.normal(0, between, truth.shape)
    replies = truth[..., None] + chance.normal(0, 0.3, (pairs, 2, trials))
    arms = np.broadcast_to(np.arange(2)[None, :, None], replies.shape)
    levels = rated(chance, replies, arms, world, (0, 5)).mean(axis=-1)
    if lose:
        # The coldest replies to the second person are the ones that a filter stops.
        worst = np.quantile(levels[:, 1], lose)
        levels[:, 1] = np.where(levels[:, 1] < worst, np.nan, levels[:, 1])
    numbers = np.broadcast_to(np.arange(pairs)[:, None, None], levels.shape)
    return Replies(numbers.ravel(), arms.ravel(), levels.ravel())


def _parity(chance, *, gaps, world=EVEN):
    found = parity(
        {
            name: _chamber(chance, gap, world=world)
            for name, gap in zip(CHAMBERS, gaps, strict=True)
        },
        CHAMBERS,
        lowest=0,
        step=0.1,
        seed="1",
        draws=1,
    )
    return (
        found.chambers[0].parity_shown,
        any(chamber.gap_shown for chamber in found.chambers),
        found.finding in (Finding.PARITY, Finding.BOTH),
    )


def _filtered(chance):
    replies = _chamber(chance, 0.6, lose=0.2)
    kept = ~np.isnan(replies.levels)
    silent = Replies(replies.pairs[kept], replies.arms[kept], replies.levels[kept])
    shown = [
        parity({"1": own}, ["1"], lowest=0, step=0.1, seed="1", draws=1).chambers[0].parity_shown
        for own in (replies, silent)
    ]
    return tuple(shown)


def _permuted(chance):
    return (permuted_p(_chamber(chance, 0.0, between=0.0), seed=_seed(chance), draws=399) < 0.05,)


def _agreement(chance, *, between):
    """Twenty items of ten responses; ``between`` is how far responses to one item differ."""
    items, each, raters = 20, 10, 8
    truth = chance.normal(3, 0.8, (items, 1)) + chance.normal(0, between, (items, each))
    severities = chance.normal(0, EVEN.severity, raters)
    pairs = np.argsort(chance.random((items * each, raters)), axis=1)[:, :2]
    wanted = truth.reshape(-1, 1) + severities[pairs] + chance.normal(0, 0.6, pairs.shape)
    places = np.clip(np.rint(wanted), 1, 5).astype(np.int64).ravel() - 1
    units = np.repeat(np.arange(items * each), 2)
    found = chance_test(
        pairs.ravel(), units, places, units // each, seed=_seed(chance), permutations=199
    )
    scale = (1, 2, 3, 4, 5)
    reach = interval(
        alpha_for_ordinal, tally_rows(units, places, scale), seed=_seed(chance), replicates=400
    )
    outcome = refutation.agreement(found, units=items * each, high=reach.high).outcome
    return outcome is Outcome.HOLDS, outcome is Outcome.REFUTED


def _pools(chance, *, public, unpublished):
    days = np.array([0.0, 60, 120])
    share = (days / days[-1])[:, None]

    def means(rise):
        truth = chance.normal(3, 0.6, 60) + rise * share + chance.normal(0, 0.3, (3, 60))
        replies = truth[..., None] + chance.normal(0, 0.3, (3, 60, 3))
        groups = np.broadcast_to(np.arange(3)[:, None, None], replies.shape)
        return rated(chance, replies, groups, EVEN, (1, 5)).mean(axis=(2, 3))

    outcome = refutation.pools([Family(means(public), means(unpublished), days)]).outcome
    return outcome is Outcome.REFUTED, outcome is Outcome.HOLDS


def _traits(chance, *, own=0.0, uneven=0.0, subjects=5):
    strength = 1 + uneven * chance.normal(0, 1, 8)
    level = 3 + chance.normal(0, 0.5, subjects)[:, None] * strength
    means = panel(chance, level + chance.normal(0, own, (subjects, 8)) if own else level).means
    outcome = refutation.traits(means, PLACES).outcome
    return outcome is Outcome.HOLDS, outcome is Outcome.REFUTED


def _many(chance, *, factors):
    runs = 120
    groups = np.arange(8) * factors // 8
    common = chance.normal(0, 1, (runs, factors))[:, groups]
    means = 3 + 0.6 * common + chance.normal(0, 0.45, (runs, 8))
    outcome = refutation.traits_of_many(np.clip(means, 1, 5), seed="1").outcome
    return outcome is Outcome.HOLDS, outcome is Outcome.REFUTED


def _seed(chance):
    return str(chance.integers(2**60))


SEPARATED = Rate("separated, by the sound interval", most=0.05)
BY_PERCENTILE = Rate("separated, by the percentile interval")

SCENARIOS = (
    *(
        Scenario(
            "Separation",
            f"two subjects alike, all dimensions at {level:g}",
            (SEPARATED, BY_PERCENTILE),
            partial(_two_alike, level=level, world=EVEN),
        )
        for level in (2.5, 4.0, 4.4)
    ),
    Scenario(
        "Separation",
        "two subjects alike at 2.5, each rated more by half the raters",
        (Rate("separated, by the sound interval"), BY_PERCENTILE),
        partial(_two_alike, level=2.5, world=UNEVEN),
    ),
    Scenario(
        "Separation",
        "one dimension of two subjects alike at 3",
        (SEPARATED, BY_PERCENTILE),
        _one_dimension,
    ),
    Scenario(
        "Separation",
        "four subjects alike at 3",
        (
            Rate("any of 6 pairs, corrected", most=0.05),
            Rate("the same, by the percentile interval"),
            Rate("any of 48 dimension pairs, corrected", most=0.05),
            Rate("the same, by the percentile interval"),
        ),
        partial(_four_alike, level=3.0),
    ),
    Scenario(
        "Separation",
        "two subjects, 0.4 level apart in every dimension",
        (
            Rate("separated, by the sound interval", least=0.8),
            Rate("the sound 95% interval holds the true difference", least=0.94),
        ),
        partial(_apart, by=0.4),
    ),
    Scenario(
        "Parity",
        "no gap in any chamber",
        (
            Rate("parity shown in the first chamber", least=0.8),
            Rate("a gap shown in any of 8 chambers", most=0.05),
            Rate("parity shown overall"),
        ),
        partial(_parity, gaps=[0.0] * 8),
    ),
    Scenario(
        "Parity",
        "a gap of 0.5 in the first chamber, none elsewhere",
        (
            Rate("parity shown in the first chamber", most=0.05),
            Rate("a gap shown in any of 8 chambers"),
            Rate("parity shown overall", most=0.05),
        ),
        partial(_parity, gaps=[0.5] + [0.0] * 7),
    ),
    Scenario(
        "Parity",
        "a gap of 0.8 in the first chamber and of -0.8 in the second",
        (
            Rate("parity shown in the first chamber", most=0.05),
            Rate("a gap shown in any of 8 chambers", least=0.8),
            Rate("parity shown overall", most=0.05),
        ),
        partial(_parity, gaps=[0.8, -0.8] + [0.0] * 6),
    ),
    Scenario(
        "Parity",
        "no gap, each arm rated more by half the raters",
        (
            Rate("parity shown in the first chamber"),
            Rate("a gap shown in any of 8 chambers"),
            Rate("parity shown overall"),
        ),
        partial(_parity, gaps=[0.0] * 8, world=UNEVEN),
    ),
    Scenario(
        "Parity",
        "a gap of 0.6, the coldest fifth of replies to B filtered",
        (
            Rate("parity shown", most=0.05),
            Rate("parity shown were filtered replies left out in silence"),
        ),
        _filtered,
    ),
    Scenario(
        "Parity",
        "replies to both arms alike in every pair",
        (Rate("p of arms dealt anew below 0.05", most=0.05),),
        _permuted,
    ),
    Scenario(
        "Agreement",
        "200 responses, raters blind to how responses to one item differ",
        (Rate("holds", most=0.05), Rate("refuted")),
        partial(_agreement, between=0.0),
    ),
    Scenario(
        "Agreement",
        "200 responses to 20 items, which differ by 0.5 level within an item",
        (Rate("holds", least=0.8), Rate("refuted", most=0.05)),
        partial(_agreement, between=0.5),
    ),
    Scenario(
        "Published items",
        "both pools rise by 0.4",
        (Rate("refuted", most=0.05), Rate("holds", least=0.7)),
        partial(_pools, public=0.4, unpublished=0.4),
    ),
    Scenario(
        "Published items",
        "published items rise by 0.6, unpublished ones by 0.1",
        (Rate("refuted", least=0.8), Rate("holds", most=0.05)),
        partial(_pools, public=0.6, unpublished=0.1),
    ),
    Scenario(
        "Published items",
        "published items rise by the margin of 0.25 more",
        (Rate("refuted"), Rate("holds", most=0.05)),
        partial(_pools, public=0.35, unpublished=0.1),
    ),
    Scenario(
        "One trait or eight",
        "one trait, five subjects",
        (Rate("holds (several traits)", most=0.05), Rate("refuted (one trait)")),
        partial(_traits),
    ),
    Scenario(
        "One trait or eight",
        "one trait that shows unevenly, five subjects",
        # The ends of the scale bend the lines of subjects far from the middle.
        (Rate("holds (several traits)", most=0.10), Rate("refuted (one trait)")),
        partial(_traits, uneven=0.4),
    ),
    Scenario(
        "One trait or eight",
        "traits of their own, standard deviation 0.4, five subjects",
        (Rate("holds (several traits)", least=0.8), Rate("refuted (one trait)", most=0.05)),
        partial(_traits, own=0.4),
    ),
    Scenario(
        "One trait or eight",
        "120 runs, one factor",
        (Rate("holds (several traits)", most=0.05), Rate("refuted (one trait)", least=0.8)),
        partial(_many, factors=1),
    ),
    Scenario(
        "One trait or eight",
        "120 runs, two factors",
        (Rate("holds (several traits)", least=0.8), Rate("refuted (one trait)", most=0.05)),
        partial(_many, factors=2),
    ),
)


def rows() -> Iterator[tuple[Scenario, int, Rate]]:
    """Every declared rate with its scenario and its place in it."""
    for scenario in SCENARIOS:
        for place, rate in enumerate(scenario.rates):
            yield scenario, place, rate
