"""What the pages of a bank show, out of the database in a constant number of queries."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db.models import Count

from rating.coverage import (
    WAITS_FOR,
    Counts,
    Coverage,
    ItemLine,
    PairLine,
    counts_of,
    map_of_chambers,
    map_of_dimensions,
)
from rating.item_figures import ItemFigures, Ratings
from rating.item_map import NARROW, WIDE, Dot, ItemMap, Limits, item_map
from rating.models import Conflict, ItemReview, Role, User
from rating.reviews import Standing, standings
from runs.models import Bank, Instrument, Item, Pair
from runs.taxonomy import DIMENSIONS

#: What a bank file says of an item beside what is asked, in the order of the page.
NOTES: Final = (
    ("What to observe", "whatToObserve"),
    ("Notes for those who evaluate", "evaluatorNotes"),
    ("Expected", "expectedBehaviors"),
    ("Not acceptable", "prohibitedFailures"),
    ("Serious harm", "criticalHarmRules"),
    ("Culture and access", "culturalAccessibilityNotes"),
    ("Evidence", "evidenceSources"),
    ("What a reviewer is to settle", "reviewRequired"),
    ("What is off in it", "flawDescription"),
    ("Likeness of the two versions", "symmetryCheck"),
    ("Kept as founded", "founding"),
)


@dataclass(frozen=True)
class BankLine:
    """A version of a bank, as the list of banks has it."""

    bank: Bank
    counts: Counts
    chambers: int
    pairs: int
    newest: bool


@dataclass(frozen=True)
class NextReviewer:
    """Somebody who may review, by code name."""

    pseudonym: str
    sent: int
    open: int


@dataclass(frozen=True)
class ReviewWork:
    """The reviews that the items of a bank still wait for, and who may give them."""

    reviews: int
    items: int
    people: tuple[NextReviewer, ...]


@dataclass(frozen=True)
class FiguresLine:
    """An item in the table under the picture."""

    item: ItemLine
    figures: ItemFigures


@dataclass(frozen=True)
class BankPage:
    bank: Bank
    counts: Counts
    items: tuple[ItemLine, ...]
    coverage: Coverage
    unplaced: int
    work: ReviewWork


@dataclass(frozen=True)
class MapOfItems:
    """The picture of what ratings say, in two widths, with its table. Empty before there are any."""

    lines: tuple[FiguresLine, ...]
    items: ItemMap | None = None
    wide: str = ""
    narrow: str = ""


def bank_lines() -> list[BankLine]:
    """Every version of every bank, from A to Z, the newest version first."""
    banks = list(Bank.objects.order_by("name", "-imported_at", "-pk"))
    items = Item.objects.order_by().values_list("bank", "withheld", "content_hash")
    by_bank: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for of, withheld, content_hash in items:
        by_bank[of].append((withheld, content_hash))
    known = standings({content_hash for rows in by_bank.values() for _, content_hash in rows})
    pairs = {
        of: (many, chambers)
        for of, many, chambers in Pair.objects.order_by()
        .values_list("bank")
        .annotate(Count("pk"), Count("chamber", distinct=True))
    }
    seen: set[str] = set()
    lines = []
    for bank in banks:
        many, chambers = pairs.get(bank.pk, (0, 0))
        counts = counts_of((withheld, known[key]) for withheld, key in by_bank[bank.pk])
        lines.append(BankLine(bank, counts, chambers, many, bank.name not in seen))
        seen.add(bank.name)
    return lines


def bank_page(bank: Bank) -> BankPage:
    """Where one version of a bank stands."""
    rows = list(bank.items.defer("prompt", "turns"))
    known = standings({row.content_hash for row in rows})
    items = tuple(item_line(row, known[row.content_hash]) for row in rows)
    if bank.instrument == Instrument.UNCONDITIONALITY:
        pairs = [
            PairLine(*row)
            for row in bank.pairs.order_by("pk").values_list(
                "code", "chamber", "arm_a__code", "arm_b__code"
            )
        ]
        coverage = map_of_chambers(items, chambers_of(bank), pairs)
        placed = {code for pair in pairs for code in (pair.a, pair.b)}
        unplaced = sum(item.code not in placed for item in items)
    else:
        coverage = map_of_dimensions(items)
        unplaced = sum(not item.subdimension for item in items)
    return BankPage(
        bank,
        counts_of((item.withheld, item.standing) for item in items),
        items,
        coverage,
        unplaced,
        review_work(items),
    )


def item_line(row: Item, standing: Standing) -> ItemLine:
    return ItemLine(
        row.code,
        title_of(row),
        row.dimension,
        row.subdimension,
        row.withheld,
        row.content_hash,
        standing,
    )


def title_of(item: Item) -> str:
    """What an item is called among people: its title, else what it measures."""
    title = _found(item.details, "title")
    return title if isinstance(title, str) and title else item.construct


def chambers_of(bank: Bank) -> list[tuple[str, str]]:
    """The chambers of a bank by code, in its order."""
    rows = bank.meta.get("chambers") or []
    return [(str(row["code"]), str(row["name"])) for row in rows]


def place_of(item: Item, chamber: str = "") -> str:
    """Where an item belongs, in words: dimension and subdimension, or chamber."""
    if chamber:
        return dict(chambers_of(item.bank)).get(chamber, chamber)
    dimension = DIMENSIONS.get(item.dimension)
    if not dimension:
        return ""
    name = dimension.subdimensions.get(item.subdimension)
    return f"{dimension.name}, {name}" if name else dimension.name


def review_work(items: Sequence[ItemLine]) -> ReviewWork:
    """How many reviews are still needed, and how many of the items each person may take."""
    waiting = {
        item.content_hash: item for item in items if item.scorable and item.standing in WAITS_FOR
    }
    people = User.objects.filter(
        groups__name__in=[Role.ITEM_REVIEWER, Role.ADMIN], is_active=True
    ).distinct()
    own = defaultdict(set)
    sent: Counter[int] = Counter()
    for person, content_hash in ItemReview.objects.filter(
        content_hash__in=[item.content_hash for item in items], superseded_by=None
    ).values_list("reviewer", "content_hash"):
        sent[person] += 1
        own[person].add(content_hash)
    codes = {item.code: key for key, item in waiting.items()}
    for person, code in Conflict.objects.filter(item_code__in=codes).values_list(
        "person", "item_code"
    ):
        own[person].add(codes[code])
    return ReviewWork(
        sum(WAITS_FOR[item.standing] for item in waiting.values()),
        len(waiting),
        tuple(
            NextReviewer(person.pseudonym, sent[person.pk], len(waiting.keys() - own[person.pk]))
            for person in sorted(people, key=lambda person: person.pseudonym)
        ),
    )


def map_of_items(page: BankPage, ratings: Ratings) -> MapOfItems:
    """What ratings say of the items of a bank, as far as it may be shown."""
    bank = page.bank
    known = ratings.by_item(bank.levels)
    lines = tuple(
        FiguresLine(item, known[item.content_hash])
        for item in page.items
        if item.content_hash in known
    )
    panel_of = _panels(page)
    dots = tuple(
        Dot(
            line.item.code,
            panel_of[line.item.code],
            line.figures.mean.value,
            line.figures.within_one.value,
            line.figures.outside,
        )
        for line in lines
        if line.figures.mean.value is not None and line.figures.within_one.value is not None
    )
    if not dots:
        return MapOfItems(lines)
    drawn = ItemMap(
        dots,
        tuple(dict.fromkeys(panel_of.values())),
        Limits(
            bank.levels[0],
            bank.levels[-1],
            settings.ITEM_MEAN_MARGIN,
            settings.ITEM_WITHIN_ONE_PERCENT / 100,
        ),
    )
    return MapOfItems(lines, drawn, item_map(drawn, width=WIDE), item_map(drawn, width=NARROW))


def others_of(item: Item, chamber: str = "") -> list[str]:
    """The content hashes of the other items that measure what this one does."""
    same = item.bank.items.exclude(pk=item.pk).order_by()
    if chamber:
        pairs = Pair.objects.filter(bank=item.bank, chamber=chamber)
        arms = [arm for pair in pairs.values_list("arm_a", "arm_b") for arm in pair]
        same = same.filter(pk__in=arms)
    elif item.dimension:
        same = same.filter(dimension=item.dimension)
    else:
        return []
    return list(same.values_list("content_hash", flat=True))


def notes_of(item: Item) -> list[tuple[str, list[str]]]:
    """What the file says of an item for people, each as one text or several."""
    found = [(label, _found(item.details, name)) for label, name in NOTES]
    return [(label, _as_texts(value)) for label, value in found if value]


def _found(details: dict[str, Any], name: str) -> Any:
    """A note, at the top of the item or among those that only people see."""
    only = details.get("sourceOnlyFields")
    inside = only.get(name) if isinstance(only, dict) else None
    return details.get(name) or inside


def _as_texts(value: Any) -> list[str]:
    if value is True:
        return ["yes"]
    if isinstance(value, list):
        return [str(one) for one in value]
    if isinstance(value, dict):
        return [f"{name}: {one}" for name, one in value.items()]
    return [str(value)]


def _panels(page: BankPage) -> dict[str, str]:
    """The panel of each item in the picture: its dimension or its chamber, in order."""
    if page.bank.instrument == Instrument.UNCONDITIONALITY:
        chambers = dict(chambers_of(page.bank))
        names = {
            code: chambers.get(chamber, chamber)
            for chamber, a, b in page.bank.pairs.order_by("pk").values_list(
                "chamber", "arm_a__code", "arm_b__code"
            )
            for code in (a, b)
        }
        return names | {item.code: "In no pair" for item in page.items if item.code not in names}
    return {
        item.code: DIMENSIONS[item.dimension].name
        for dimension in DIMENSIONS
        for item in page.items
        if item.dimension == dimension
    }
