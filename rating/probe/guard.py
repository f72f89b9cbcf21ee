"""The one way out. Whatever the probe says passes here, and is held back where it says too much.

The tools never make such a result. That is exactly why this stands apart from them: it trusts
nothing that they computed, and works the figures of a card out again from the levels on it.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from rating.probe.chain import texts_in
from rating.probe.schemas import JSON, RESULTS, fault_in
from rating.probe.scorecard import DIGITS, means_of, score_of
from rating.probe.shelf import Shelf
from rating.stats.scores import Place
from runs.bank import ItemFile

LONGEST_REFUSAL: Final = 1_000
SHORTEST_TELLING: Final = 12  # characters; fewer stand in any text by chance
#: A judge may well quote an anchor in the reason it gives.
OF_THE_HOST: Final = frozenset(
    {"rationale", "subject_label", "judge_label", "judge_model_label", "judge_labels"}
)
CARDS: Final = ("finish_scored_run", "summarise_judge_session")
#: True of no result: what would make a reading look like more than it is.
FALSE: Final = frozenset(
    {"official", "is_index_entry", "publishable_as_a_compassion_benchmark_score"}
)
#: In no result at all, as a name or as a word of one.
ORDERED: Final = frozenset({"rank", "ranks", "ranked", "ranking", "rankings", "leaderboard"})
#: In no card: the words of a result that counts, and of the place where it would stand.
CLAIMS: Final = frozenset(
    {
        "score",
        "benchmark",
        "rate",
        "rating",
        "registry_id",
        "result_id",
        "cohort",
        "run_id",
        "publishable",
        "authorized_by",
    }
)
FIGURES: Final = frozenset({"composite", "band"})


class HeldBack(Exception):
    """A result that must not leave, with the rule it breaks."""


class Guard:
    """Knows the bank, and so what no result may give away."""

    def __init__(self, shelf: Shelf) -> None:
        items = shelf.bank.items
        every = "\n".join(text for item in shelf.items.values() for text in _texts_of(item))
        usual = "\n".join(
            text for item in shelf.listed(include_sensitive=False) for text in _texts_of(item)
        )
        self._anchors = _telling(
            (anchor.description for item in items for anchor in item.anchors), every
        )
        self._sensitive = _telling(
            (text for code in shelf.sensitive for text in _texts_of(shelf.items[code])), usual
        )
        self._kept = _telling(
            (text for item in items if item.code not in shelf.items for text in _texts_of(item)),
            every,
        )

    def release(self, tool: str, result: JSON, *, sensitive_asked: bool) -> str:
        """The result as it leaves, in JSON. Raises ``HeldBack`` with the rule it breaks."""
        for name, value in _named(result):
            _check_name(tool, name, value)
        self._check_texts(tool, result, sensitive_asked)
        if tool in CARDS:
            _check_card(tool, result)
        if fault := fault_in(RESULTS[tool], result):
            raise HeldBack(f"it is not what {tool} may say: {fault}")
        return json.dumps(result, ensure_ascii=False, allow_nan=False)

    def refusal(self, sentence: str, *, sensitive_asked: bool) -> str:
        """A refusal as it leaves: no longer than it must be, and held to the same texts."""
        said = sentence[:LONGEST_REFUSAL]
        try:
            self._check_texts("", {"refusal": said}, sensitive_asked)
        except HeldBack as why:
            return f"The reason cannot be given: {why}"
        return said

    def _check_texts(self, tool: str, result: JSON, sensitive_asked: bool) -> None:
        said = "\n".join(_our_texts(result))
        if tool != "get_anchors" and any(anchor in said for anchor in self._anchors):
            raise HeldBack("an anchor leaves through get_anchors alone, when a reply is rated.")
        if not sensitive_asked and any(text in said for text in self._sensitive):
            raise HeldBack("it holds a sensitive item that nobody asked for.")
        if any(text in said for text in self._kept):
            raise HeldBack("it holds an item that is never served.")


def _texts_of(item: ItemFile) -> list[str]:
    """All that a subject is sent of an item."""
    return [item.prompt, *(turn.content for turn in item.turns)]


def _telling(texts: Iterable[str], shown: str) -> list[str]:
    """Those of some texts that give something away: not the short, nor what may be shown anyway."""
    return [text for text in texts if len(text) >= SHORTEST_TELLING and text not in shown]


def _our_texts(value: Any) -> Iterator[str]:
    """Every text in a result but those that the host wrote itself, which it may have back."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in OF_THE_HOST:
                yield from (name, *_our_texts(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from _our_texts(inner)
    else:
        yield from texts_in(value)


def _named(value: Any) -> Iterator[tuple[str, Any]]:
    """Every field of a result with what it holds, however deep."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield str(name), inner
            yield from _named(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _named(inner)


def _check_name(tool: str, name: str, value: Any) -> None:
    parts = set(re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))
    if parts & ORDERED or name.lower().replace("_", "") in ORDERED:
        raise HeldBack(f"it has a field {name}, and nothing here is put in an order.")
    if name in FALSE and value is not False:
        raise HeldBack(f"its field {name} is {value!r}, and nothing here can be that.")
    if name == "comparability" and value != "none":
        raise HeldBack(f"its comparability is {value!r}, and this compares with nothing.")
    if name == "anchors" and tool != "get_anchors":
        raise HeldBack("anchors leave through get_anchors alone, when a reply is rated.")
    if name in FIGURES and tool != "finish_scored_run":
        raise HeldBack(f"it has a field {name}, which stands on a finished scorecard alone.")
    if tool in CARDS and name in CLAIMS:
        raise HeldBack(f"it has a field {name}, which is a word of results that count.")


def _check_card(tool: str, card: JSON) -> None:
    if card.get("official") is not False or card.get("comparability") != "none":
        raise HeldBack("a card says of itself that it is not official and compares with nothing.")
    if tool != "finish_scored_run":
        return
    if fault := fault_in(RESULTS[tool], card):
        raise HeldBack(f"it is not a valid scorecard: {fault}")
    items = card["items"]
    places = [Place(one["item_id"], one["dimension"], one["subdimension"]) for one in items]
    if len({place.item for place in places}) < len(places):
        raise HeldBack("an item stands on the card twice.")
    score = score_of(places, {one["item_id"]: one["levels"] for one in items})
    own = means_of(score)
    if any(one["mean"] != round(score.items[one["item_id"]].value, DIGITS) for one in items):
        raise HeldBack("the mean of an item is not that of its levels.")
    for name, value in own.items():
        if card[name] != value:
            raise HeldBack(
                f"its {name} is not what the levels on it give. Below three rated items in every "
                "dimension there is no composite, whatever was computed."
                if name in FIGURES
                else f"its {name} is not what the levels on it give."
            )
    if own["composite"] is None and card["uncertainty"]["composite_interval"] is not None:
        raise HeldBack("it gives the interval of a composite that is withheld.")
    if card["uncertainty"]["dimensions"].keys() != own["dimensions"].keys():
        raise HeldBack("a dimension stands without its interval, or the reason for none.")
