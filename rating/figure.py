"""A number as a report says it: with its interval, or the reason for what is missing."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A number with its interval. ``reason`` says why either is missing."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None

    def as_number(self) -> str:
        """Such as "0.71 (95% interval 0.62 to 0.79)", or a sentence why there is none."""
        return self._in_words(_number)

    def as_percent(self) -> str:
        """Such as "81% (95% interval 78% to 84%)", or a sentence why there is none."""
        return self._in_words(_percent)

    def number(self) -> str:
        """The number alone, such as "0.71"; empty where there is none."""
        return "" if self.value is None else _number(self.value)

    def percent(self) -> str:
        """The share alone, such as "81%"; empty where there is none."""
        return "" if self.value is None else _percent(self.value)

    def brief(self) -> str:
        """The number and its interval without a reason; empty where there is no number."""
        return "" if self.value is None else Figure(self.value, self.low, self.high).as_number()

    @property
    def why(self) -> str:
        """A sentence on what is missing; empty where nothing is."""
        if self.reason is None:
            return ""
        what = "number" if self.value is None else "interval"
        return f"This {what} cannot be given: {self.reason}"

    def _in_words(self, shown: Callable[[float], str]) -> str:
        if self.value is None:
            return self.why
        if self.low is not None and self.high is not None:
            return f"{shown(self.value)} (95% interval {shown(self.low)} to {shown(self.high)})"
        return f"{shown(self.value)}. {self.why}" if self.reason else shown(self.value)


def figure_as_json(figure: Figure) -> dict[str, float | str | None]:
    return {
        "value": figure.value,
        "low": figure.low,
        "high": figure.high,
        "reason": figure.reason,
    }


def _number(value: float) -> str:
    """Two decimals, but never "1.00" for less than full agreement."""
    shown = f"{value:.2f}"
    if shown == "1.00" and value < 1 - 1e-9:
        return "over 0.99"
    return "0.00" if shown == "-0.00" else shown


def _percent(value: float) -> str:
    """Whole percent, but never "100%" for less than all or "0%" for more than none."""
    shown = f"{value:.0%}"
    if shown == "100%" and value < 1 - 1e-9:
        return "over 99%"
    return "under 1%" if shown == "0%" and value > 1e-9 else shown
