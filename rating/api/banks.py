"""Banks and their items, for programs of those who may see what an item is meant to measure."""

from typing import Any

from django.db.models import Count, Q
from django.shortcuts import get_object_or_404
from ninja import Router

from rating.api.door import ApiRequest, Token, of_all_waves
from rating.api.paging import After, Limit, begin_after, page_of
from rating.api.shapes import BankOut, BanksPage, ItemsPage
from runs.models import Anchor, Bank, Item

router = Router(tags=["Banks"])
BANKS, ITEMS = "banks", "items"


@router.get("/banks", response=BanksPage, auth=Token("read:banks"))
def list_banks(request: ApiRequest, limit: Limit = 50, after: After = "") -> Any:
    """Every version of every bank, in the order they came."""
    of_all_waves(request)
    wanted = _counted()
    if key := begin_after(BANKS, after):
        wanted = wanted.filter(pk__gt=key[0])
    found, following = page_of(
        BANKS, wanted.order_by("pk")[: limit + 1], limit, lambda one: [one.pk]
    )
    return {"items": [_line(one) for one in found], "next": following}


@router.get("/banks/{int:pk}", response=BankOut, auth=Token("read:banks"))
def read_bank(request: ApiRequest, pk: int) -> Any:
    """One version of a bank."""
    of_all_waves(request)
    return _line(get_object_or_404(_counted(), pk=pk))


@router.get("/banks/{int:pk}/items", response=ItemsPage, auth=Token("read:banks"))
def list_items(request: ApiRequest, pk: int, limit: Limit = 50, after: After = "") -> Any:
    """The items of a bank by their codes: what is asked, and what each level looks like.

    Of an item that is not published, the texts are left out: it is read on its own page alone.
    """
    of_all_waves(request)
    bank = get_object_or_404(Bank.objects.exclude(frozen_at=None).only("pk"), pk=pk)
    of = f"{ITEMS} {bank.pk}"
    wanted = Item.objects.filter(bank=bank)
    if key := begin_after(of, after):
        wanted = wanted.filter(code__gt=key[0])
    found, following = page_of(
        of, wanted.order_by("code")[: limit + 1], limit, lambda one: [one.code]
    )
    anchors: dict[int, list[Anchor]] = {}
    for anchor in Anchor.objects.filter(
        item__in=[one.pk for one in found if not one.unpublished]
    ).order_by("item", "level"):
        anchors.setdefault(anchor.item_id, []).append(anchor)
    return {
        "items": [
            {
                **{name: getattr(one, name) for name in SHOWN},
                "measures": one.construct,
                "prompt": None if one.unpublished else one.prompt,
                "turns": None if one.unpublished else one.turns,
                "anchors": None if one.unpublished else anchors.get(one.pk, []),
            }
            for one in found
        ],
        "next": following,
    }


SHOWN = (
    "code",
    "dimension",
    "subdimension",
    "language",
    "pool",
    "topic",
    "withheld",
    "content_hash",
    "unpublished",
)


def _counted() -> Any:
    return (
        Bank.objects.filter(frozen_at__isnull=False)
        .defer("meta")
        .annotate(n_items=Count("items"), n_served=Count("items", filter=Q(items__withheld="")))
    )


def _line(bank: Any) -> dict[str, Any]:
    return {
        "id": bank.pk,
        "name": bank.name,
        "version": bank.version,
        "instrument": bank.instrument,
        "language": bank.language,
        "levels": bank.levels,
        "content_hash": bank.content_hash,
        "imported_at": bank.imported_at,
        "items": bank.n_items,
        "served": bank.n_served,
    }
