"""Ratings in Label Studio's JSON export, read whole or refused with every fault that was found.

A task is a unit, an annotation is one rater's, and each control that was rated is a dimension where
there is more than one. What an export may hold besides, such as text areas, is passed over.
"""

import json
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from rating.ratings_file import (
    BYTE_ORDER_MARK,
    LARGEST,
    LONGEST,
    MOST_FAULTS,
    FileRefused,
    Levels,
    RatingsFile,
    shown,
)
from runs.plain_json import STRICT, TOO_DEEP, is_too_deep

#: The controls that hold a level, and where in their value it stands.
CONTROLS: Final = {"rating": "rating", "choices": "choices", "number": "number"}
EXPORT: Final = "Choose the format JSON, not JSON-MIN, when you export from Label Studio."


def is_json(path: Path) -> bool:
    """Whether the file begins as JSON does."""
    try:
        with path.open("rb") as file:
            start = file.read(4096).removeprefix(BYTE_ORDER_MARK).lstrip()
    except OSError:
        return False
    return start[:1] in (b"[", b"{")


def read_label_studio(path: Path, scale: Sequence[float], words: Sequence[str] = ()) -> RatingsFile:
    """Return the ratings in a JSON export: choices, stars and numbers, by annotator.

    A choice names its level as text, such as "4", or in ``words``, the scale's levels, lowest first.
    ``item`` in the data of a task is the item of its unit. Annotations that were cancelled are
    passed over, and noted.

    Raises
    ------
    FileRefused
        With up to 20 faults, each naming the task, annotation, control and value and the way on.
    """
    reader = _Tasks(path, Levels(tuple(float(level) for level in scale), tuple(words)))
    for place, task in enumerate(_parsed(path)):
        reader.take(place, task)
    return reader.kept()


def _parsed(path: Path) -> list[Any]:
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise FileRefused(
                [
                    f"{path} has {size / 2**20:,.0f} MB; at most {LARGEST >> 20} are read. "
                    f"Export fewer tasks at a time, or without their predictions."
                ]
            )
        raw = path.read_bytes()
    except OSError as why:
        raise FileRefused([f"{path} cannot be read: {why.strerror}."]) from None
    try:
        tasks = json.loads(raw.removeprefix(BYTE_ORDER_MARK).decode(), **STRICT)
    except UnicodeDecodeError as why:
        raise FileRefused([f"{path}: Byte {why.start + 1:,} is not UTF-8."]) from None
    except json.JSONDecodeError as why:
        raise FileRefused(
            [f"{path}, line {why.lineno:,}, column {why.colno:,}: This is not JSON: {why.msg}."]
        ) from None
    except RecursionError:
        raise FileRefused([f"{path} is nested too deep for an export. {EXPORT}"]) from None
    except ValueError as why:
        raise FileRefused([f"{path} cannot be read: {why}."]) from None
    if is_too_deep(tasks):
        raise FileRefused([f"{path} is {TOO_DEEP}. {EXPORT}"])
    if not isinstance(tasks, list):
        raise FileRefused([f"{path} is not a list of tasks. {EXPORT}"])
    if not tasks:
        raise FileRefused([f"{path} has no tasks in it."])
    return tasks


class _Tasks:
    """Takes tasks one by one, and keeps what their annotations say as numbers."""

    def __init__(self, path: Path, levels: Levels) -> None:
        self.path = path
        self.levels = levels
        self.faults: list[str] = []
        self.n_faults = 0
        self.raters: dict[str, int] = {}
        self.units: dict[tuple[str, str], int] = {}
        self.items: list[str] = []
        self.tasks: set[str] = set()
        self.seen: set[tuple[int, int]] = set()
        self.rater, self.unit, self.level = array("q"), array("q"), array("d")
        self.n_cancelled = self.n_passed_over = 0

    def take(self, place: int, task: Any) -> None:
        where = f"task {place + 1:,} of the list"
        if not isinstance(task, dict):
            return self._fault(where, f"This is not a task. {EXPORT}")
        name = _name(task.get("id"))
        if not name:
            return self._fault(where, "It has no id.")
        where = f"task {shown(name)}"
        if name in self.tasks:
            return self._fault(where, "This task is there twice. Keep one.")
        self.tasks.add(name)
        annotations = task.get("annotations", task.get("completions"))
        if not isinstance(annotations, list):
            return self._fault(where, f"It has no list of annotations. {EXPORT}")
        data = task.get("data")
        item = _name(data.get("item")) if isinstance(data, dict) else ""
        for annotation in annotations:
            self._take_annotation(where, name, item, annotation)
        return None

    def kept(self) -> RatingsFile:
        """Return what was kept, or raise ``FileRefused`` with what was wrong."""
        if self.n_faults > len(self.faults):
            more = self.n_faults - len(self.faults)
            self.faults.append(f"{self.path}: {more:,} more fault{'s' * (more > 1)} like these.")
        if self.faults:
            raise FileRefused(self.faults)
        if not self.level:
            raise FileRefused(
                [
                    f"{self.path} has no choice, stars or number by any annotator. Those are the "
                    f"controls that hold a level."
                ]
            )
        several = len({dimension for _, dimension in self.units}) > 1
        return RatingsFile(
            raters=tuple(self.raters),
            units=tuple((unit, dimension if several else "") for unit, dimension in self.units),
            items=tuple(self.items if all(self.items) else [""] * len(self.items)),
            rater=self.rater,
            unit=self.unit,
            level=self.level,
            notes=tuple(self._notes()),
        )

    def _take_annotation(self, where: str, unit: str, item: str, annotation: Any) -> None:
        if not isinstance(annotation, dict):
            return self._fault(where, "One of its annotations is not an object.")
        if annotation.get("was_cancelled") is True:
            self.n_cancelled += 1
            return None
        by = annotation.get("completed_by")
        rater = _name(by.get("email") or by.get("id")) if isinstance(by, dict) else _name(by)
        where = f"{where}, annotation {shown(_name(annotation.get('id')) or 'without an id')}"
        results = annotation.get("result")
        if not rater:
            return self._fault(where, "It does not say by whom it was completed.")
        if not isinstance(results, list):
            return self._fault(where, "It has no list of results.")
        for result in results:
            self._take_result(where, unit, item, rater, result)
        return None

    def _take_result(self, where: str, unit: str, item: str, rater: str, result: Any) -> None:
        kind = result.get("type") if isinstance(result, dict) else None
        if not isinstance(kind, str) or kind not in CONTROLS:
            self.n_passed_over += 1
            return None
        dimension = _name(result.get("from_name"))
        if not dimension:
            return self._fault(where, "A result does not name its control.")
        where = f"{where}, control {shown(dimension)}"
        try:
            level = self._level(result)
        except ValueError as why:
            return self._fault(where, str(why))
        by = self.raters.setdefault(rater, len(self.raters))
        of = self.units.setdefault((unit, dimension), len(self.units))
        if of == len(self.items):
            self.items.append(item)
        if (by, of) in self.seen:
            return self._fault(where, f"Annotator {shown(rater)} rated it already. Keep one.")
        self.seen.add((by, of))
        self.rater.append(by)
        self.unit.append(of)
        self.level.append(level)
        return None

    def _level(self, result: dict[str, Any]) -> float:
        value = result.get("value")
        found = value.get(CONTROLS[result["type"]]) if isinstance(value, dict) else None
        if isinstance(found, list):
            if len(found) != 1:
                raise ValueError(f"There are {len(found)} choices where one is a level.")
            found = found[0]
        if isinstance(found, str):
            return self.levels.of(found.strip())
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise ValueError("There is no level in its value.")
        return self.levels.of(str(found) if isinstance(found, int) else f"{found:g}")

    def _fault(self, where: str, text: str) -> None:
        self.n_faults += 1
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(f"{self.path}, {where}: {text}")

    def _notes(self) -> Iterator[str]:
        yield "Read as Label Studio's JSON: a task is a unit, and each control a dimension."
        if self.n_cancelled:
            yield f"Annotations that were cancelled, passed over: {self.n_cancelled:,}."
        if self.n_passed_over:
            yield f"Results that hold no level, passed over: {self.n_passed_over:,}."


def _name(value: Any) -> str:
    """A number or a text as a name; empty for anything else, as for a text too long for one."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return ""
    name = str(value).strip()
    return name if len(name) <= LONGEST else ""
