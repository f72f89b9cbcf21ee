"""What a look comes to: a line, with what was found, why it matters and what puts it right."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    OK = "ok"
    LOOK = "look"
    WRONG = "wrong"


@dataclass(frozen=True)
class Line:
    state: State
    what: str
    found: str
    why: str = ""
    fix: str = ""

    def __str__(self) -> str:
        more = " ".join(part for part in (self.why, self.fix and f"Do: {self.fix}") if part)
        return f"{self.state.value:5} {self.what}: {self.found}" + (
            f"\n      {more}" if more else ""
        )


def ok(what: str, found: str) -> Line:
    return Line(State.OK, what, found)


def look(what: str, found: str, why: str, fix: str) -> Line:
    return Line(State.LOOK, what, found, why, fix)


def wrong(what: str, found: str, why: str, fix: str) -> Line:
    return Line(State.WRONG, what, found, why, fix)
