"""What a careful editor would ask of a bank, as pure functions, and what a bank counts up to.

``runs.bank`` finds what is wrong with a bank's structure. This looks at its wording. Each limit
below was measured on the two banks in ``fixtures/``: the largest value in them stands beside it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from runs.bank import DRAFTS, BankFile, BankRefused, Fault, ItemFile, check_bank, find_faults
from runs.taxonomy import DIMENSIONS

# Shared runs of three words, of all that two prompts have. Largest of two that are no pair: 0.06.
NEAR_DUPLICATE = 0.2
MOST_COMPARED = 50
# Shared words, of all that two anchors of an item have. Largest: 0.30.
ALIKE = 0.5
# Anchors of so many items that begin with the same three words. Largest: 2.
TEMPLATE = 4
# A sentence of so many words should not stand in two items. Largest that does: none.
SENTENCE = 5
# Languages that do not part words by spaces: a count of letters a word means nothing in them.
UNSPACED = {"zh", "ja", "th", "lo", "km", "my", "bo"}
# LIX of an item's anchors: 40 is medium, 50 difficult. Largest of our own: 36; AWR-1-A has 54.
LONGEST_LIX = 45.0

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
SENTENCE_END = re.compile(r"(?<=[.!?:;…])[”’\"')]*\s+")

_REPLY = r"(?:repl(?:y|ies)|responses?|arms?)"
COMPARES = re.compile(
    rf"""
    \b(?:both|other|two|either|each\ of\ the)\ {_REPLY}\b
    | \bthe\ other\ (?:arm|half|side\ of\ the\ pair)\b
    | \bthan\ (?:in\ )?(?:the\ other|another|other|most)\ {_REPLY}
    | \bthan\ it\ (?:would|does\ for|did\ for|gives|gave|offers|offered)\b
    | \bcompared\ (?:to|with)\ (?:how|what)\ it\b
    | \bcompared\ (?:to|with)\ (?:the\ other|other)\ {_REPLY}
    | \brelative\ to\ (?:how|what)\ it\b
    | \b(?:lower|higher|better|worse)\ (?:in\ )?quality\ than\b
    """,
    re.IGNORECASE | re.VERBOSE,
)

_HURTS = (
    r"(?:hits?|hitting|beats?|beaten|beating|pushe[sd]|chok\w+|strangl\w+|punche[sd]|kick(?:s|ed))"
)
CRISIS_WORDS = re.compile(
    rf"""
    \bsuicid\w* | \bself[- ]?harm\w* | \boverdos\w* | \bpsychos\w+
    | \b(?:kill|hurt|cut)(?:ing)?\ (?:myself|himself|herself|themselves)\b
    | \bend(?:ing)?\ (?:my|his|her|their)\ life\b | \bend\ it\ all\b
    | \b(?:want|wants|wish|wanna|going|ready)\ to\ die\b
    | \bdon['’]?t\ want\ to\ (?:live|be\ here|wake\ up)\b | \bno\ reason\ to\ live\b
    | \bwon['’]?t\ be\ here\ (?:tomorrow|in\ the\ morning|any\ ?more)\b
    | \bbetter\ off\ without\ me\b | \bmade\ up\ my\ mind\ about\ tonight\b
    | \b{_HURTS}\ (?:me|him|us|my|her)\b(?!\ (?:own\ )?(?:head|knee|elbow|hand|foot))
    | \brap(?:e|ed|ing|ist)\b | \b(?:sexual\ )?assault\w* | \babus(?:e|ed|es|ing|ive)\b
    | \bmiscarr\w+ | \bstill(?:born|birth)\b | \blost\ the\ baby\b
    | \bhear(?:s|ing)?\ voices\b | \bvoices\ (?:tell|say|want) | \bthey\ are\ telling\ me\b
    """,
    re.IGNORECASE | re.VERBOSE,
)

PRESUMES = re.compile(
    r"""
    \byour\ (?:last|previous|earlier|first)\ (?:answer|reply|message|advice|list)\b
    | \bas\ you\ (?:said|told|advised|suggested|promised)\b
    | \bwhat\ you\ (?:said|told\ me|wrote|gave\ me)\b
    | \b(?:earlier|before|last\ time)\ you\ (?:said|told|wrote|gave|promised)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True)
class Count:
    """How many items a dimension has, and how many of them count and are asked."""

    items: int = 0
    scorable: int = 0
    served: int = 0


@dataclass(frozen=True)
class Counts:
    """What a bank counts up to. Nobody types these."""

    whole: Count
    dimensions: dict[str, Count]
    subdimensions: dict[str, Count]
    chambers: dict[str, int]
    drafts: tuple[str, ...]
    crisis: tuple[str, ...]
    unpublished: int
    with_turns: int

    def thin(self, least: int = 2) -> list[str]:
        """Subdimensions with fewer served items than ``least``."""
        return [code for code, count in self.subdimensions.items() if count.served < least]


@dataclass(frozen=True)
class Checked:
    """All that was found in a bank, and its counts where it could be read."""

    found: tuple[Fault, ...]
    counts: Counts | None

    @property
    def faults(self) -> list[Fault]:
        return [fault for fault in self.found if not fault.warning]

    def by_check(self) -> dict[str, tuple[int, int]]:
        """``(faults, warnings)`` of every check, those that found nothing too."""
        tally = Counter((fault.check, fault.warning) for fault in self.found)
        names = list(STRUCTURE)
        if self.counts is not None:
            names += WORDING
        return {name: (tally[name, False], tally[name, True]) for name in names}


def check_whole(data: Any) -> Checked:
    """Structure first; the wording of a bank is looked at once it can be read."""
    try:
        bank = check_bank(data)
    except BankRefused:
        return Checked(tuple(find_faults(data)), None)
    return Checked((*bank.warnings, *wording_faults(bank)), count_up(bank))


def wording_faults(bank: BankFile) -> Iterator[Fault]:
    """What the wording checks find, each named after its check."""
    for name, check in WORDING.items():
        yield from (replace(fault, check=name) for fault in check(bank))


def count_up(bank: BankFile) -> Counts:
    """How many items there are of each kind, from the items themselves."""
    dimensions: dict[str, Count] = {}
    subdimensions: dict[str, Count] = {}
    if bank.instrument == "model-index":
        for code, dimension in DIMENSIONS.items():
            dimensions[code] = _count(i for i in bank.items if i.dimension == code)
            for sub in dimension.subdimensions:
                subdimensions[sub] = _count(i for i in bank.items if i.subdimension == sub)
    pairs = Counter(pair.chamber for pair in bank.pairs)
    return Counts(
        whole=_count(bank.items),
        dimensions=dimensions,
        subdimensions=subdimensions,
        chambers=dict(sorted(pairs.items())),
        drafts=tuple(item.code for item in bank.items if _is_draft(item)),
        crisis=tuple(item.code for item in bank.items if item.topic),
        unpublished=sum(item.unpublished for item in bank.items),
        with_turns=sum(bool(item.turns) for item in bank.items),
    )


def lix(text: str) -> float:
    """How hard a text is to read: words a sentence, plus the per cent of words over six letters.

    Around 30 is easy, 40 medium, 50 difficult. It needs no syllables, so it can be computed
    alike by anyone and for any language that parts its words by spaces.

    References
    ----------
    Björnsson (1968), Läsbarhet; Anderson (1983), Lix and Rix: variations on a little-known
    readability index, Journal of Reading 26(6).
    """
    words = WORD.findall(text)
    if not words:
        return 0.0
    sentences = sum(1 for part in SENTENCE_END.split(text) if WORD.search(part))
    long = sum(len(word) > 6 for word in words)
    return len(words) / max(sentences, 1) + 100 * long / len(words)


def overlap(one: set[Any], other: set[Any]) -> float:
    """What two sets share, of all that is in them (Jaccard); 0 for two empty sets."""
    return len(one & other) / len(one | other) if one or other else 0.0


def shingles(text: str, size: int = 3) -> set[tuple[str, ...]]:
    """Every run of ``size`` words; of a shorter text the text itself."""
    words = [word.casefold() for word in WORD.findall(text)]
    return {tuple(words[at : at + size]) for at in range(max(len(words) - size + 1, 1))}


def compares_replies(bank: BankFile) -> Iterator[Fault]:
    """Anchors that can be chosen only beside a reply the rater does not see.

    A note "in this reply alone" decides such a level, and variants are asked to be compared.
    """
    for item in bank.items:
        if item.details.get("variants"):
            continue
        for anchor in item.anchors:
            if not anchor.note and (found := COMPARES.search(anchor.description)):
                yield Fault(
                    item.code,
                    f"anchors[level {anchor.level}]",
                    f"{_quote(item, found[0])} compares with a reply that the rater does not see. "
                    "Say what this reply alone shows.",
                )


def unmarked_crisis(bank: BankFile) -> Iterator[Fault]:
    """Words of crisis in what a rater will read, where nothing announces it."""
    for item in bank.items:
        if item.topic:
            continue
        for name, text in _facing(item):
            if found := CRISIS_WORDS.search(text):
                yield Fault(
                    item.code,
                    name,
                    f"{_quote(item, found[0])} may be a crisis: mark it sensitivity high with a "
                    "topic, or leave it if the situation is none.",
                    warning=True,
                )
                break


def near_duplicates(bank: BankFile) -> Iterator[Fault]:
    """Prompts that share many runs of words. The arms of a pair are meant to."""
    mates = {frozenset((pair.a, pair.b)) for pair in bank.pairs}
    runs = {item.code: shingles(item.prompt) for item in bank.items}
    holders: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for code, own in runs.items():
        for run in own:
            holders[run].append(code)
    near = {
        couple
        for codes in holders.values()
        # Beyond these, each is compared with the first alone: all with all would cost a square.
        for couple in combinations(codes[:MOST_COMPARED], 2)
    } | {(codes[0], code) for codes in holders.values() for code in codes[1:]}
    for one, other in sorted(near):
        share = overlap(runs[one], runs[other])
        if share >= NEAR_DUPLICATE and frozenset((one, other)) not in mates:
            yield Fault(
                other,
                "prompt",
                f"shares {share:.0%} of its runs of three words with {one}; "
                f"{NEAR_DUPLICATE:.0%} is the limit.",
                warning=True,
            )


def hard_to_read(bank: BankFile) -> Iterator[Fault]:
    """Anchors that ask too much of a rater who has many to read."""
    for code, name, texts in _ladders(bank):
        grade = lix("\n".join(texts))
        if bank.language.split("-")[0] not in UNSPACED and grade > LONGEST_LIX:
            yield Fault(
                code,
                name,
                f"read as LIX {grade:.0f}; above {LONGEST_LIX:.0f} is hard. Shorter sentences "
                "and words help.",
                warning=True,
            )


def alike_anchors(bank: BankFile) -> Iterator[Fault]:
    """Two levels of an item that say nearly the same."""
    for code, name, texts in _ladders(bank):
        words = [{word.casefold() for word in WORD.findall(text)} for text in texts]
        for (low, one), (high, other) in combinations(zip(bank.levels, words, strict=True), 2):
            share = overlap(one, other)
            if share >= ALIKE:
                yield Fault(
                    code,
                    f"{name}[level {high}]",
                    f"shares {share:.0%} of its words with level {low}; {ALIKE:.0%} is the limit.",
                    warning=True,
                )


def repeated_sentences(bank: BankFile) -> Iterator[Fault]:
    """The same sentence in the anchors of two items: one of them is not about its situation."""
    first: dict[tuple[str, ...], str] = {}
    for item, anchor in _own_anchors(bank):
        for sentence in SENTENCE_END.split(anchor.description):
            words = tuple(word.casefold() for word in WORD.findall(sentence))
            if len(words) < SENTENCE:
                continue
            if first.setdefault(words, item.code) != item.code:
                yield Fault(
                    item.code,
                    f"anchors[level {anchor.level}]",
                    f"{_quote(item, sentence.strip()[:60])} stands in {first[words]} too.",
                    warning=True,
                )


def template_openings(bank: BankFile) -> Iterator[Fault]:
    """Anchors of many items that begin alike, as a form would have them."""
    openings: dict[tuple[str, ...], dict[str, ItemFile]] = defaultdict(dict)
    for item, anchor in _own_anchors(bank):
        opening = tuple(word.casefold() for word in WORD.findall(anchor.description)[:3])
        openings[opening].setdefault(item.code, item)
    for opening, items in openings.items():
        if len(items) >= TEMPLATE:
            held = any(item.unpublished for item in items.values())
            said = "the same three words" if held else f"“{' '.join(opening)}”"
            yield Fault(
                "",
                "anchors",
                f"{said} open anchors of {len(items)} items: {', '.join(list(items)[:8])}.",
                warning=True,
            )


def missing_turns(bank: BankFile) -> Iterator[Fault]:
    """Items that speak of something said before, and do not carry it."""
    for item in bank.items:
        if item.turns:
            continue
        if item.details.get("conversationState"):
            yield Fault(
                item.code,
                "turns",
                "needs an earlier turn (conversationState) and carries none, so it is not served.",
                warning=True,
            )
        elif found := PRESUMES.search(item.prompt):
            yield Fault(
                item.code,
                "prompt",
                f"{_quote(item, found[0])} speaks of an earlier turn; carry it in turns.",
                warning=True,
            )


def wrong_coverage(bank: BankFile) -> Iterator[Fault]:
    """A coverage that the file states and its items do not have."""
    stated = bank.meta.get("subdimensionCoverage")
    rows = stated.get("perSubdimension") if isinstance(stated, dict) else None
    if not isinstance(rows, dict):
        return
    has = Counter(item.subdimension for item in bank.items if item.subdimension)
    for code in sorted(rows.keys() | has.keys()):
        if rows.get(code, 0) != has[code]:
            yield Fault(
                "",
                f"meta.subdimensionCoverage.perSubdimension.{code}",
                f"says {rows.get(code, 0)!r:.20}; the file has {has[code]}.",
                warning=True,
            )


STRUCTURE = (
    *("shape", "meta", "fields", "place", "prompts", "placeholders", "anchors", "turns"),
    *("status", "variants", "balance", "pairs", "length symmetry"),
)
WORDING: dict[str, Callable[[BankFile], Iterator[Fault]]] = {
    "stated coverage": wrong_coverage,
    "compares replies": compares_replies,
    "unmarked crisis": unmarked_crisis,
    "near-duplicate prompts": near_duplicates,
    "reading level": hard_to_read,
    "alike anchors": alike_anchors,
    "repeated sentences": repeated_sentences,
    "template openings": template_openings,
    "missing turns": missing_turns,
}


def _count(items: Iterable[ItemFile]) -> Count:
    rows = list(items)
    scorable = [i for i in rows if not _is_draft(i) and i.withheld != "retired"]
    return Count(len(rows), len(scorable), sum(not item.withheld for item in rows))


def _is_draft(item: ItemFile) -> bool:
    return item.details.get("validationStatus") in DRAFTS


def _facing(item: ItemFile) -> Iterator[tuple[str, str]]:
    """Every text of an item that a subject may be sent."""
    yield "prompt", item.prompt
    for index, turn in enumerate(item.turns):
        yield f"turns[{index}].content", turn.content
    for arm in item.details.get("variants") or []:
        yield f"variants[{arm['variantId']}].prompt", str(arm.get("prompt") or "")


def _own_anchors(bank: BankFile) -> Iterator[tuple[ItemFile, Any]]:
    """Anchors that an item does not take from the common rubric."""
    for item in bank.items:
        if not _shares_rubric(bank, item):
            yield from ((item, anchor) for anchor in item.anchors)


def _ladders(bank: BankFile) -> Iterator[tuple[str, str, list[str]]]:
    """The texts of every ladder of levels, with its item and field; a common rubric once."""
    shared = False
    for item in bank.items:
        texts = [f"{a.description} {a.note}".strip() for a in item.anchors]
        if not _shares_rubric(bank, item):
            yield item.code, "anchors", texts
        elif not shared:
            shared = True
            yield "", "meta.rubric", texts


def _shares_rubric(bank: BankFile, item: ItemFile) -> bool:
    rubric = bank.meta.get("rubric") or []
    return [a.description for a in item.anchors] == [row["description"] for row in rubric]


def _quote(item: ItemFile, words: str) -> str:
    """Words of an item, unless it is kept back: then a finding points and does not repeat."""
    return "its wording" if item.unpublished else f"“{' '.join(words.split())}”"
