"""The public pilot of 2 October 2026, as tests/oracles/pilot-2026-10-02.json gives it."""

import json
import math
from pathlib import Path

import numpy as np

from rating.stats.resampling import Panel
from rating.stats.scores import ORDER, Asked, Place, item_table, scores_of

PILOT = json.loads((Path(__file__).parents[1] / "oracles" / "pilot-2026-10-02.json").read_text())
#: The order in which the pilot's analysis takes differences.
SUBJECTS = tuple(PILOT["design"]["analysis_subject_order"])
#: The subdimension codes of the scoring server, by dimension.
PREFIX = dict(zip(ORDER, ("A", "E", "AC", "EQ", "B", "AB", "S", "I"), strict=True))


def places():
    """Its items, by dimension and within it by id, as its bootstrap draws them."""
    items = sorted({row["item"] for row in PILOT["ratings"]})
    items.sort(key=lambda item: ORDER.index(item[:3]))
    return [Place(item, item[:3], PREFIX[item[:3]] + item.split("-")[1]) for item in items]


def table():
    number = {place.item: place_number for place_number, place in enumerate(places())}
    rows = [
        (SUBJECTS.index(row["subject"]), number[row["item"]], level)
        for row in PILOT["ratings"]
        for _, _, level in row["ratings"]
    ]
    subjects, items, levels = (np.array(column) for column in zip(*rows, strict=True))
    return item_table(subjects, items, levels.astype(float), (len(SUBJECTS), len(number)))


def panel():
    return Panel(SUBJECTS, tuple(place.dimension for place in places()), table().means)


def scores():
    asked = [Asked(249)] * len(SUBJECTS)
    return {score.subject: score for score in scores_of(SUBJECTS, places(), table(), asked)}


def published_indices():
    """The draws of the pilot: its own generator, whose products lose digits in doubles."""
    state = float(PILOT["method"]["interval"]["seed"])
    sizes = [PILOT["design"]["items_per_dimension"][code] for code in ORDER]
    drawn = [np.empty((PILOT["method"]["interval"]["B"], size), dtype=np.int64) for size in sizes]
    for replicate in range(PILOT["method"]["interval"]["B"]):
        for size, places_of_it in zip(sizes, drawn, strict=True):
            for number in range(size):
                state = math.fmod(state * 1103515245 + 12345, 2147483648)
                places_of_it[replicate, number] = int(state / 2147483648 * size)
    return drawn


def printed(value, digits):
    return math.floor(10**digits * value + 0.5) / 10**digits
