"""A simulated world in plain rows: the same for a seed, and as much agreement as was asked for."""

from datetime import UTC, datetime

import numpy as np
import pytest

from rating.simulation import (
    COLUMNS,
    Counters,
    Numbers,
    People,
    Wave,
    parts,
    severities,
    waves_of,
)
from rating.stats.agreement import ordinal_alpha

RATERS = 12


def rows(seed: str = "1", *, alpha: float = 0.65, trials: int = 12, **changes) -> dict[str, list]:
    """All rows of one small wave, by table."""
    said = {"answered": 1.0, "twice": 1.0, "once": 0.0, "over": True, **changes}
    wave = Wave("w", "Simulated", "model-index", 10, 2, 1, trials, **said)
    numbers = Numbers(
        wave=1,
        runs=[1, 2],
        subject_of=[1, 2],
        developer_of=["A", "B"],
        items=list(range(1, 11)),
        pairs=[None] * 10,
        arms=[0] * 10,
        topics=[""] * 10,
        anchors=[[10 * item + level for level in range(1, 6)] for item in range(10)],
        levels=[1, 2, 3, 4, 5],
    )
    people = People(list(range(1, RATERS + 1)), [99], severities(RATERS, seed, alpha))
    made: dict[str, list] = {table: [] for table in COLUMNS}
    for _, part in parts(
        wave,
        numbers,
        people,
        Counters(),
        seed=seed,
        alpha=alpha,
        ends=datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None),
        guess_percent=10,
        adjudicate_at=2,
        adjudicate_sample=5,
        makers=["A", "B"],
    ):
        for table, some in part.rows.items():
            made[table] += some
    return made


def test_the_same_seed_makes_the_same_world_and_another_one_another():
    assert rows("1") == rows("1")
    assert rows("1")["runs_response"] != rows("2")["runs_response"]


@pytest.mark.parametrize("alpha", [0.35, 0.65, 0.85])
def test_levels_agree_as_far_as_was_asked_for(alpha):
    levels: dict[int, list[int]] = {}
    for row in rows(alpha=alpha, trials=100)["rating_rating"]:
        if row[5] == "counted":
            levels.setdefault(row[1], []).append(row[3] % 10)
    both = np.array([two for two in levels.values() if len(two) == 2], dtype=np.float64).T
    assert ordinal_alpha(both, [1, 2, 3, 4, 5]) == pytest.approx(alpha, abs=0.07)


def test_every_rating_quotes_words_of_its_response():
    made = rows()
    text = {row[0]: row[8] for row in made["runs_response"]}
    response = {row[0]: row[1] for row in made["rating_rating"]}
    assert {row[1] for row in made["rating_quote"]} == set(response)
    for _, rating, start, end, _ in made["rating_quote"]:
        quoted = text[response[rating]][start:end]
        assert quoted == quoted.strip()
        assert len(quoted) > 11


def test_no_response_has_three_raters_or_one_twice():
    raters: dict[int, list[int]] = {}
    for row in rows()["rating_rating"]:
        if row[5] == "counted":
            raters.setdefault(row[1], []).append(row[2])
    assert all(len(set(one)) == len(one) == 2 for one in raters.values())


def test_work_is_shared_evenly():
    counts = np.bincount([row[2] for row in rows()["rating_rating"] if row[5] == "counted"])[1:]
    assert max(counts) - min(counts) < 0.3 * np.mean(counts)


def test_a_wave_that_is_being_rated_has_all_kinds_of_slots():
    made = rows(twice=0.5, once=0.2, over=False)
    partners = {(row[3], row[5] is not None) for row in made["rating_slot"]}
    assert partners == {("rated", True), ("rated", False), ("open", True), ("open", False)}


def test_four_waves_hold_as_many_responses_as_were_asked_for():
    for responses in (20_000, 100_000, 1_000_000):
        waves = waves_of(responses, {"model-index": 83, "unconditionality": 160})
        assert sum(wave.responses for wave in waves) == pytest.approx(responses, rel=0.05)
