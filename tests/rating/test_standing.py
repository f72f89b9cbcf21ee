"""How somebody rates, held against agreed responses: by value, with the working beside it."""

from datetime import UTC, datetime, timedelta

import pytest

from rating.standing import (
    Reading,
    drift,
    in_blocks,
    last_block,
    misses,
    severity,
    share_of,
)

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def readings(*away: int, days: float = 1, tolerance: int = 1) -> list[Reading]:
    return [
        Reading(3 + one, 3, tolerance, START + timedelta(days=days * n))
        for n, one in enumerate(away)
    ]


def test_what_lies_within_the_tolerance():
    assert [r.within for r in readings(-2, -1, 0, 1, 2)] == [False, True, True, True, False]
    assert [r.within for r in readings(-1, 0, tolerance=0)] == [False, True]


def test_a_share_has_wilsons_interval():
    # Wilson 1927 for 81 of 100, z = 1.96: 0.7222 to 0.8749.
    share = share_of([True] * 81 + [False] * 19)

    assert (share.count, share.n, share.percent) == (81, 100, 81)
    assert (share.low, share.high) == (
        pytest.approx(0.7222, abs=5e-4),
        pytest.approx(0.8749, abs=5e-4),
    )


def test_a_share_of_nothing_has_no_number():
    share = share_of([])

    assert (share.percent, share.low, share.high) == (None, None, None)


def test_severity_is_the_mean_distance_with_students_interval():
    # Mean -0.4, standard deviation 0.6992 (n - 1), t(9) = 2.2622: half-width 0.5002.
    found = severity(readings(0, 0, -1, 0, -1, 0, -1, 1, -1, -1))

    assert found.value == pytest.approx(-0.4)
    assert (found.low, found.high) == (
        pytest.approx(-0.9002, abs=5e-4),
        pytest.approx(0.1002, abs=5e-4),
    )


def test_severity_of_fewer_than_ten_is_a_reason():
    found = severity(readings(*[0] * 9))

    assert found.value is None
    assert found.reason == "It takes at least 10 agreed responses; there are 9."


def test_ten_that_are_alike_have_a_mean_and_no_limits():
    found = severity(readings(*[1] * 10))

    assert (found.value, found.low, found.high) == (1, None, None)
    assert found.in_words == "+1.00 levels. There are no limits: all 10 are alike."


def test_drift_is_the_slope_by_week():
    # One level more each week, three readings at a time: the slope is 1, and nothing is left over.
    rows = [Reading(1 + n // 3, 3, 1, START + timedelta(weeks=n // 3)) for n in range(12)]

    found = drift(rows)

    assert found.value == pytest.approx(1)
    assert (found.low, found.reason) == (None, "There are no limits: all 12 lie on one line.")


def test_no_drift_has_an_interval_around_nothing():
    found = drift(readings(0, 1, 0, -1, 0, 1, 0, -1, 0, 1, 0, -1, days=2))

    assert found.low < 0 < found.high


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (readings(*[0] * 9), "It takes at least 10 agreed responses; there are 9."),
        (readings(*[0] * 12), "It takes at least 14 days between first and last."),
    ],
)
def test_drift_of_too_little_is_a_reason(rows, reason):
    assert drift(rows).reason == reason


def test_only_the_last_whole_block_is_held_to_the_rule():
    rows = readings(*[2] * 10, *[0] * 10, *[2] * 9)

    assert len(last_block(rows)) == 10
    assert misses(rows) == 0
    assert misses(rows[:10]) == 10
    assert misses(rows[:9]) == 0


def test_figures_come_in_whole_blocks():
    assert [len(in_blocks(range(n))) for n in (0, 9, 10, 29)] == [0, 0, 10, 20]
