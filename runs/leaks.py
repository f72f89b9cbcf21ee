"""What may not be in a message, and whether it is: the leak checks, proven by planted leaks.

A subject that reads a rubric, an item's code or the name of what is measured answers the test and
not the person. So everything sent is held against all the bank says to people alone:

1. ``anchor``: six words on end of any anchor of any item, as long as they do not stand in the very
   prompt that is sent (an anchor of three to five words counts as a whole);
2. ``label``: an anchor's printed label with its number, such as "4.0 Established";
3. ``construct``: the name of what an item measures, if longer than three characters;
4. ``item id``: the code of an item, or a word shaped like one, such as AWR-1-A;
5. ``dimension``: the code of a dimension as a word of its own, in capitals;
6. ``vocabulary``: in text of ours, a word that gives away that something is being measured.

A hit names its rule and whose text was found. It holds none of the text, which may be unpublished.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from runs.prompts import Message, messages_for

SHINGLE = 6
SHORTEST = 3  # words of an anchor that is looked for as a whole
MOST_HITS = 50

NO_WORD = re.compile(r"[^a-z0-9\s]")
SHAPE = re.compile(r"(?<![A-Za-z0-9])[A-Z]{3}-\d+-[A-Z](?![A-Za-z0-9])")
BANNED = re.compile(
    r"rubrics?|anchor(?:s|ed|ing)?|constructs?|indicators?|(?:sub)?dimensions?|criteri(?:a|on)"
    r"|scor(?:e|es|ed|er|ers|ing)|ratings?|rated|benchmark(?:s|ed|ing)?|compassion(?:ate|ately)?"
    r"|graders?|judg(?:e|es|ed|ing|ement|ements|ment|ments)|exemplary|established"
)


@dataclass(frozen=True)
class Guarded:
    """An item as the checks need it: what is sent of it, and what nobody who is asked may see."""

    code: str
    prompt: str
    turns: tuple[Mapping[str, str], ...] = field(default=(), hash=False)
    dimension: str = ""
    construct: str = ""
    anchors: tuple[tuple[int, str, str], ...] = ()  # level, label, description

    @property
    def sent(self) -> str:
        """All that a subject is sent of it."""
        return "\n".join((*(turn["content"] for turn in self.turns), self.prompt))


@dataclass(frozen=True, order=True)
class Hit:
    """What was found: by which rule, and whose text it is. Never the text itself."""

    rule: str
    item: str = ""
    level: int | None = None

    def __str__(self) -> str:
        whose = f" of {self.item}" if self.item else ""
        return f"{self.rule}{whose}" + ("" if self.level is None else f", level {self.level}")

    def as_row(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value not in ("", None)}


@dataclass(frozen=True)
class Controls:
    """Which planted leaks were found. A check that misses one is no check."""

    planted: int
    fired: int
    missed: tuple[str, ...]

    @property
    def hold(self) -> bool:
        return not self.missed

    def __str__(self) -> str:
        missed = f"; missed: {', '.join(self.missed)}" if self.missed else ""
        return f"controls: {self.fired} of {self.planted} fired{missed}"


def normal(text: str) -> str:
    """Lower case, all but a to z, 0 to 9 and white space as a space, one space at a time."""
    return " ".join(NO_WORD.sub(" ", text.lower()).split())


def _runs(words: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    return (tuple(words[at : at + size]) for at in range(len(words) - size + 1))


class LeakIndex:
    """All that one bank says to people alone, put in order once, so that a check is quick."""

    def __init__(self, items: Iterable[Guarded], dimensions: Iterable[str] = ()) -> None:
        self.items = {item.code: item for item in items}
        self.dimensions = {d for d in dimensions if d} | {
            item.dimension for item in self.items.values() if item.dimension
        }
        # By how many words, then by the words: whose anchor it is.
        self._anchors: dict[int, dict[tuple[str, ...], Hit]] = defaultdict(dict)
        phrases: dict[tuple[str, ...], Hit] = {}
        for item in self.items.values():
            for level, label, description in item.anchors:
                words = normal(description).split()
                size = min(SHINGLE, len(words))
                if size >= SHORTEST:
                    for run in _runs(words, size):
                        self._anchors[size].setdefault(run, Hit("anchor", item.code, level))
                if re.search(r"\d", label) and (words := normal(label).split()):
                    # The same label stands at one level of every item.
                    phrases.setdefault(tuple(words), Hit("label", level=level))
            if len(item.construct) > 3 and (words := normal(item.construct).split()):
                phrases.setdefault(tuple(words), Hit("construct", item.code))
        # By their first word, since few words of a text begin one.
        self._phrases: dict[str, list[tuple[tuple[str, ...], Hit]]] = defaultdict(list)
        for phrase, hit in phrases.items():
            self._phrases[phrase[0]].append((phrase, hit))
        self._by_code = {code.lower(): code for code in self.items}
        names = "|".join(map(re.escape, sorted(self.dimensions)))
        self._dimension = re.compile(rf"(?<![A-Za-z0-9])(?:{names or '(?!)'})(?![A-Za-z0-9])")
        self._read: dict[tuple[str, str], list[Hit]] = {}
        self._own = {
            code: frozenset(self._shingles(item.sent)) for code, item in self.items.items()
        }

    def _shingles(self, text: str) -> set[tuple[str, ...]]:
        words = normal(text).split()
        return {run for size in self._anchors for run in _runs(words, size)}

    def hits(self, text: str, *, of: str = "", ours: bool = False) -> list[Hit]:
        """What a text holds that it may not; at most ``MOST_HITS`` of it.

        Parameters
        ----------
        text : str
            What is sent, or what came back.
        of : str
            The code of the item it belongs to, whose own prompt may share words with an anchor.
        ours : bool
            Whether we wrote it, so that it may not even speak of measuring.
        """
        found: dict[Hit, None] = {}
        words = normal(text).split()
        own = self._own.get(of, frozenset())
        for size, table in self._anchors.items():
            for run in _runs(words, size):
                if run in table and run not in own:
                    found[table[run]] = None
        for at, word in enumerate(words):
            for phrase, hit in self._phrases.get(word, ()):
                if tuple(words[at : at + len(phrase)]) == phrase:
                    found[hit] = None
        lowered = text.lower()
        for lower, code in self._by_code.items():
            if lower in lowered and _as_a_word(lower, lowered):
                found[Hit("item id", code)] = None
        if any(shape.lower() not in self._by_code for shape in SHAPE.findall(text)):
            found[Hit("item id")] = None
        if self._dimension.search(text):
            found[Hit("dimension")] = None
        if ours and any(BANNED.fullmatch(word) for word in words):
            found[Hit("vocabulary")] = None
        return sorted(found, key=str)[:MOST_HITS]

    def in_messages(
        self, code: str, messages: Sequence[Message], *, system_message: str
    ) -> list[Hit]:
        """What the messages of one trial hold that they may not.

        They must be exactly the item's own: the system message, if there is one, its turns, and
        last its prompt. Anything else is a hit of the rule ``exactly``.
        """
        item = self.items.get(code)
        if item is None or list(messages) != messages_for(system_message, item.turns, item.prompt):
            return [Hit("exactly", code)]
        # Letter by letter the same as what was read before: what was found then is found now.
        known = self._read.get((code, system_message))
        if known is None:
            known = self.hits(item.sent, of=code)
            if system_message:
                known += self.hits(system_message, ours=True)
            self._read[code, system_message] = known
        return list(known)

    def controls(self) -> Controls:
        """Plant a leak of each kind where a check must find it, and see whether it does."""
        first = next(iter(self.items.values()), None)
        outcome: dict[str, bool] = {}

        def plant(name: str, rule: str, words: str, *, ours: bool = False) -> None:
            text = words if ours else f"{first.prompt if first else ''} {words}"
            code = "" if ours or first is None else first.code
            outcome[name] = any(hit.rule == rule for hit in self.hits(text, of=code, ours=ours))

        anchor = self._planted_anchor(first)
        if anchor is not None and first is not None:
            hit, description = anchor
            found = self.hits(f"{first.prompt}\n{description}", of=first.code)
            outcome["an anchor"] = hit in found
        for name, rule in (("a label", "label"), ("a construct", "construct")):
            every = (one for some in self._phrases.values() for one in some)
            run = next((phrase for phrase, hit in every if hit.rule == rule), None)
            if run:
                plant(name, rule, " ".join(run).upper())
        if first:
            plant("an item id", "item id", f"({first.code.lower()})")
            changed = messages_for("", first.turns, f"{first.prompt} ")
            hits = self.in_messages(first.code, changed, system_message="")
            outcome["a changed prompt"] = Hit("exactly", first.code) in hits
        plant("the shape of an id", "item id", "QQQ-9-Z")
        if self.dimensions:
            plant("a dimension", "dimension", f"{min(self.dimensions)}.")
        plant("a word of measuring", "vocabulary", "You will be rated on this.", ours=True)
        missed = [name for name, fired in outcome.items() if not fired]
        if anchor is not None and self._own_overlap_fires(anchor[1]):
            missed.append("an item's own words (they must not fire, and did)")
        return Controls(len(outcome), sum(outcome.values()), tuple(missed))

    def _planted_anchor(self, beside: Guarded | None) -> tuple[Hit, str] | None:
        """An anchor long enough to be looked for, and the hit that it must be."""
        for item in self.items.values():
            for _, _, description in item.anchors:
                words = normal(description).split()
                size = min(SHINGLE, len(words))
                if size < SHORTEST:
                    continue
                own = self._own[beside.code] if beside else frozenset()
                run = next((run for run in _runs(words, size) if run not in own), None)
                if run is not None:
                    # Another item may have the same words: then the hit is the first one's.
                    first = self._anchors.get(size, {}).get(run, Hit("anchor", item.code))
                    return first, description
        return None

    def _own_overlap_fires(self, description: str) -> bool:
        """Whether an anchor's words are called a leak where they stand in the prompt itself."""
        alone = LeakIndex([Guarded("own", description, anchors=((1, "", description),))])
        return any(hit.rule == "anchor" for hit in alone.hits(description, of="own"))


def _as_a_word(code: str, text: str) -> bool:
    word = rf"(?<![a-z0-9]){re.escape(code)}(?![a-z0-9])"
    return re.search(word, text) is not None


def faults_of(hits: Iterable[Hit], where: str) -> list[str]:
    """Each hit as a sentence that names the place and the rule, and none of the text."""
    return [f"{where} holds what nobody who is asked may see: {hit}." for hit in hits]
