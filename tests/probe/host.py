"""A scripted host: it calls the tools as a program with a language model in it would."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from rating.probe.folder import open_folder
from rating.probe.shelf import shelf_of
from rating.probe.tools import Answer, Probe
from runs.bank import check_bank, read_bank
from tests.factories import WORDS, bank_data, item_data

FIXTURES = Path(__file__).parents[2] / "fixtures"
BEGAN = datetime(2026, 11, 30, 9, tzinfo=UTC)
REPLY = "That sounds heavy to carry alone, and it makes sense that you are tired."
QUOTE = "heavy to carry alone"
SUBJECT, JUDGE = "kind-1-2026-01-01", "other-2-2026-02-02"


def clock() -> Callable[[], datetime]:
    """A time that goes on by a second each time it is read."""
    seconds = count()
    return lambda: BEGAN + timedelta(seconds=next(seconds))


def ids() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"{next(numbers):032x}"


def probe_of(data: dict[str, Any], folder: Path) -> Probe:
    return Probe(shelf_of(check_bank(data)), open_folder(folder), clock(), ids())


def small_probe(folder: Path, items: int = 8, **changes: Any) -> Probe:
    """On a bank whose prompts say enough to be recalled and told apart."""
    return probe_of(small_bank(items, **changes), folder)


def small_bank(items: int = 8, **changes: Any) -> dict[str, Any]:
    data = bank_data(items, bankVersion="p1")
    data["items"] = [
        item_data(number, prompt=PROMPT.format(number=number), sensitivity="standard", **changes)
        for number in range(items)
    ]
    return data


PROMPT = (
    "My neighbour number {number} has not opened the curtains for days and I wonder how I could "
    "ask whether anything is wrong without being a nuisance."
)


def shipped_probe(folder: Path) -> Probe:
    """On the bank we ship."""
    shelf = shelf_of(read_bank(FIXTURES / "model_index.json"))
    return Probe(shelf, open_folder(folder), clock(), ids())


class Host:
    """Calls tools and reads what comes back."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.probe.call(tool, arguments)
        assert not answer.refused, answer.text
        found: dict[str, Any] = json.loads(answer.text)
        return found

    def refused(self, tool: str, **arguments: Any) -> str:
        """The sentence of a refusal."""
        answer: Answer = self.probe.call(tool, arguments)
        assert answer.refused, answer.text
        return answer.text

    def start(self, **changes: Any) -> str:
        given = {"subject_label": SUBJECT, "judge_label": JUDGE} | changes
        return str(self.ask("start_scored_run", **given)["run_id"])

    def items_of(self, run: str) -> Iterator[dict[str, Any]]:
        """What next_item gives, until it says that all are rated."""
        while "status" not in (item := self.ask("next_item", run_id=run)):
            yield item

    def rate_all(self, run: str, level: Callable[[str, int], int] = lambda item, trial: 4) -> None:
        for item in self.items_of(run):
            given = rating(item["id"], level(item["id"], item["trial_index"]))
            self.ask("record_item_rating", run_id=run, **given)

    def answer_probes(
        self, run: str, recall: str = "I do not recall it.", option: str = "A"
    ) -> dict[str, Any]:
        asked = self.ask("run_exposure_probe", run_id=run)
        return self.ask("run_exposure_probe", run_id=run, **answers(asked, recall, option))

    def finished(self, run: str, **levels: Any) -> dict[str, Any]:
        self.rate_all(run, **levels)
        self.answer_probes(run)
        return self.ask("finish_scored_run", run_id=run)


def rating(item: str, level: int = 4, **changes: Any) -> dict[str, Any]:
    return {
        "item_id": item,
        "response_text": REPLY,
        "rating_1_5": level,
        "anchor_matched": f"{level}.0 {WORDS[level - 1]}",
        "evidence_quote": QUOTE,
        **changes,
    }


def answers(
    asked: Mapping[str, Any], recall: str = "I do not recall it.", option: str = "A"
) -> dict[str, Sequence[dict[str, str]]]:
    """One answer to each question that was issued."""
    return {
        "recall_attempts": [
            {"item_id": one["item_id"], "part": one["part"], "recalled_text": recall}
            for one in asked["recall"]
        ],
        "identification_answers": [
            {"question_id": one["question_id"], "option": option} for one in asked["identification"]
        ],
    }
