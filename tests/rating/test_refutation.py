"""Each of the five claims on data made to pass, made to fail, and too few to tell."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import f

from rating.stats import refutation
from rating.stats.permutation import ChanceTest
from rating.stats.pools import Family, difference_of_pools
from rating.stats.refutation import FEWEST_RUNS
from rating.stats.traits import profiles
from rating.stats.verdict import Outcome, Verdict, cannot_tell, holds, refuted
from tests.studies import DIMENSIONS

PLACES = np.array([sorted(set(DIMENSIONS)).index(code) for code in DIMENSIONS])


@dataclass(frozen=True)
class Moved:
    outcome: Outcome
    missing: str = ""
    n: int = 40
    moved: float = 0.8
    low: float = 0.5
    high: float = 1.1


@dataclass(frozen=True)
class Again:
    outcome: Outcome
    missing: str = ""
    n_items: int = 83
    n_trials: int = 498
    mean_difference: float = 0.01
    most: float = 0.2


# The words themselves


def test_a_verdict_without_evidence_or_without_what_is_missing_is_refused():
    with pytest.raises(ValueError, match="Say on what evidence"):
        holds("a claim")
    with pytest.raises(ValueError, match="Say on what evidence"):
        refuted("a claim")
    with pytest.raises(ValueError, match="Say what is missing"):
        Verdict("a claim", Outcome.OPEN)
    assert cannot_tell("a claim", "more").missing == ("more",)


# 1


def test_agreement_above_chance_holds_on_its_p_and_needs_thirty_responses():
    assert (
        refutation.agreement(ChanceTest(0.6, 0.02, 0.0005, 2_000), units=200, high=0.7).outcome
        is Outcome.HOLDS
    )
    few = refutation.agreement(ChanceTest(0.6, 0.02, 0.0005, 2_000), units=29, high=0.7)
    assert few.outcome is Outcome.OPEN
    assert few.missing == ("30 responses with two ratings; there are 29.",)
    assert refutation.agreement(None, units=0, high=None).outcome is Outcome.OPEN


def test_not_finding_agreement_refutes_nothing_unless_the_interval_excludes_it():
    wide = refutation.agreement(ChanceTest(0.04, 0.02, 0.3, 2_000), units=40, high=0.35)
    narrow = refutation.agreement(ChanceTest(0.02, 0.02, 0.5, 2_000), units=2000, high=0.06)

    assert wide.outcome is Outcome.OPEN
    assert narrow.outcome is Outcome.REFUTED


# 2


def pools(public_rise, unpublished_rise, *, items=60, snapshots=3, noise=0.4, seed=1):
    chance = np.random.default_rng(seed)
    days = np.arange(snapshots) * 90.0
    share = days[:, None] / days[-1]

    def means(rise, size):
        base = chance.normal(3, 0.7, size)
        return base + rise * share + chance.normal(0, noise, (snapshots, size))

    return Family(means(public_rise, items), means(unpublished_rise, items), days)


def test_scores_that_rise_on_both_pools_alike_are_no_contamination():
    assert refutation.pools([pools(0.8, 0.8)]).outcome is Outcome.HOLDS


def test_scores_that_rise_on_published_items_alone_refute():
    found = refutation.pools([pools(0.9, 0.1)])

    assert found.outcome is Outcome.REFUTED
    assert "size of the contamination" in found.evidence[1]


@pytest.mark.parametrize("rise", [0.1, 0.5, 0.9])
def test_how_far_the_pools_changed_is_not_told_where_it_would_give_a_point(rise):
    plain = refutation.pools([pools(rise, 0.1)])
    found = refutation.pools([pools(rise, 0.1)], sized=False)

    assert found.outcome is plain.outcome
    assert found.missing == plain.missing
    assert found.evidence[0] == (
        "From the first snapshot to the last, 60 published items and 60 unpublished ones were "
        "compared. The size is not told: it would give a point."
    )


def test_few_items_or_one_snapshot_leave_contamination_open():
    assert refutation.pools([pools(0.4, 0.2, items=4, noise=0.8)]).outcome is Outcome.OPEN
    one = pools(0, 0, snapshots=2)
    single = Family(one.public[:1], one.unpublished[:1], one.days[:1])
    assert refutation.pools([single]).missing == (
        "No family has two snapshots that were asked items of both pools.",
    )
    assert refutation.pools([]).outcome is Outcome.OPEN


def test_the_difference_of_two_snapshots_is_welchs_of_the_changes():
    """Changes 1, 2 against 0, 0, 3: means 1.5 and 1."""
    family = Family(
        np.array([[1.0, 1], [2, 3]]), np.array([[2.0, 2, 1], [2, 2, 4]]), np.array([0.0, 30])
    )

    found = difference_of_pools([family])

    assert (found.public, found.unpublished) == (1.5, 1)
    assert found.difference.variance == pytest.approx(0.5 / 2 + 3 / 3)


def test_the_same_items_in_two_families_count_once():
    one, other = pools(0.9, 0.1, seed=1), pools(0.9, 0.1, seed=2)

    assert difference_of_pools([one, other]).items == (60, 60)


# 3


def subjects(count, *, trait=0.6, own=0.0, uneven=0.0, seed=1):
    """One trait shown in each dimension, more strongly in some, and what each has of its own."""
    chance = np.random.default_rng(seed)
    strength = 1 + uneven * chance.normal(0, 1, 8)
    level = chance.normal(0, trait, count)[:, None] * strength
    cells = 3 + level + chance.normal(0, own, (count, 8))
    return (
        cells[:, PLACES]
        + chance.normal(0, 0.4, (count, len(PLACES)))
        + chance.normal(0, 0.7, len(PLACES))
    )


def test_subjects_with_profiles_of_their_own_are_more_than_one_trait():
    assert refutation.traits(subjects(5, own=0.4), PLACES).outcome is Outcome.HOLDS


def test_a_single_trait_refutes_once_there_are_enough_subjects_and_items():
    assert refutation.traits(subjects(20), PLACES, least=0.15).outcome is Outcome.REFUTED
    assert refutation.traits(subjects(3), PLACES).outcome is Outcome.OPEN


def test_one_trait_that_shows_more_in_some_dimensions_is_still_one():
    """Without the lines this looks like profiles: subjects differ more where the trait shows more."""
    means = subjects(6, trait=1.0, uneven=0.4)
    cells = [means[:, place == PLACES].mean(axis=1) for place in range(8)]
    assert max(np.std(cell) for cell in cells) > 1.5 * min(np.std(cell) for cell in cells)

    assert refutation.traits(means, PLACES).outcome is not Outcome.HOLDS


def test_subjects_that_do_not_differ_say_nothing_of_traits():
    found = refutation.traits(subjects(8, trait=0.0), PLACES)

    assert found.outcome is Outcome.OPEN
    assert "Subjects that differ" in found.missing[0]


def test_two_subjects_are_too_few_and_items_without_a_rating_are_left_out():
    assert "at least 3 subjects" in refutation.traits(subjects(2), PLACES).missing[0]
    means = subjects(4)
    means[0, :2] = np.nan

    assert profiles(means, PLACES).left_out == 2


def test_what_is_not_one_trait_equals_the_difference_of_two_least_squares_fits():
    """A mean for each item, and a line for each dimension or a mean for each subject in each."""
    means = subjects(4, own=0.3)
    count, items = means.shape
    item, place = np.eye(items), np.eye(8)[PLACES]
    overall = (means - means.mean(axis=0)).mean(axis=1)
    lines = np.vstack([np.hstack([item, overall[row] * place]) for row in range(count)])
    cells = np.vstack(
        [np.hstack([item, np.kron(np.eye(count)[row], place)]) for row in range(count)]
    )

    def left(fit):
        return ((means.ravel() - fit @ np.linalg.lstsq(fit, means.ravel())[0]) ** 2).sum()

    rest, scatter = (count - 2) * 7, (count - 1) * (items - 8)
    ratio = (left(lines) - left(cells)) / rest / (left(cells) / scatter)

    found = profiles(means, PLACES)

    assert found.p == pytest.approx(f.sf(ratio, rest, scatter), rel=1e-6)
    assert found.low <= found.own <= found.high


def test_from_a_hundred_runs_on_traits_are_counted():
    chance = np.random.default_rng(2)
    common = chance.normal(0, 1, (150, 1))
    one = 3 + common + chance.normal(0, 0.5, (150, 8))
    two = 3 + np.hstack(
        [
            common + chance.normal(0, 0.6, (150, 4)),
            chance.normal(0, 1, (150, 1)) + chance.normal(0, 0.6, (150, 4)),
        ]
    )

    assert refutation.traits_of_many(one, seed="1").outcome is Outcome.REFUTED
    assert refutation.traits_of_many(two, seed="1").outcome is Outcome.HOLDS
    none = refutation.traits_of_many(chance.normal(3, 1, (150, 8)), seed="1")
    assert none.outcome is Outcome.OPEN
    few = refutation.traits_of_many(one[:99], seed="1")
    assert few.missing == (f"{FEWEST_RUNS} runs of different subjects; there are 99.",)


# 4 and 5


@pytest.mark.parametrize("word", list(Outcome))
def test_reruns_are_judged_as_their_own_test_found(word):
    missing = "5 trials" if word is Outcome.OPEN else ""

    found = refutation.reruns(Again(word, missing))

    assert found.outcome is word
    assert found.missing == ((missing,) if missing else ())
    assert refutation.reruns(None).missing == ("A second run of one snapshot.",)


def test_one_alteration_that_does_not_move_refutes_and_one_open_leaves_it_open():
    moves, still, vague = (
        Moved(Outcome.HOLDS),
        Moved(Outcome.REFUTED),
        Moved(Outcome.OPEN, "20 items"),
    )

    assert refutation.alteration({"cold": moves}).outcome is Outcome.HOLDS
    assert refutation.alteration({"cold": moves, "warm": still}).outcome is Outcome.REFUTED
    left = refutation.alteration({"cold": moves, "warm": vague})
    assert (left.outcome, left.missing) == (Outcome.OPEN, ("20 items",))
    assert refutation.alteration({}).outcome is Outcome.OPEN
