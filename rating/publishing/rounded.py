"""Numbers as a report prints them: what is rounded away is published nowhere."""

import math


def shown(value: float | None, places: int) -> float | None:
    """The number as it is printed, halves up; none where there is none."""
    if value is None:
        return None
    scale = float(10**places)
    return math.floor(value * scale + 0.5) / scale + 0.0


def chance(p: float | None) -> float | None:
    """A p value with two figures that count, so that a small one is not printed as 0."""
    return None if p is None else float(f"{p:.2g}")
