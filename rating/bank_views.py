"""Where a bank stands, one item of it, and the next version: for admins and maintainers.

An item reviewer sees the page of an item once they have sent their review of it.
"""

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from rating import (
    bank_pages,
    drafting,
    makers_aside,  # noqa: F401 - names what is made aside
)
from rating.anchor_use import anchor_use_chart
from rating.aside import figures
from rating.aside_views import tell, waits
from rating.bank_forms import FreezeForm, ItemDraftForm
from rating.coverage import GLYPHS
from rating.item_figures import ItemFigures, Ratings, record_figures
from rating.models import BankDraft, ItemChange, ItemReview, Role, User
from rating.reviews import CRITERIA, Standing, reviews_of, standings
from runs.access import role_required
from runs.bank import BankRefused, word_ratio
from runs.models import Bank, Item, Pair

STAFF = (Role.ADMIN, Role.MAINTAINER)
CRITERION = {
    "applicable": "Each level can be decided from what is on the card",
    "discriminating": "Warm but wrong and blunt but right come apart",
    "monotonic": "The levels lie on one line",
    "on_construct": "It measures what it says",
    "safe_and_accurate": "Safe to ask, and its facts are right",
}


class StaffRequest(HttpRequest):
    user: User


@require_safe
@role_required(*STAFF)
def banks(request: HttpRequest) -> HttpResponse:
    """Every version of every bank, with its counts."""
    return render(request, "rating/bank.html", {"lines": bank_pages.bank_lines()})


@require_safe
@role_required(*STAFF)
@waits
def bank(request: StaffRequest, pk: int) -> HttpResponse:
    """Where one version stands. What ratings say of its items is put on record for who looks."""
    found = _bank(pk)
    page = bank_pages.bank_page(found)
    worked_out = figures("items", None, hashes=sorted({one.content_hash for one in page.items}))
    ratings: Ratings = worked_out.value
    if request.method == "GET":
        record_figures(request.user, ratings.waves.values())
    tell(request, worked_out)
    wanted = request.GET.get("status", "")
    wanted = wanted if wanted in list(Standing) else ""
    findings = drafting.findings_of_bank(found)
    context = {
        "page": page,
        "bank": found,
        "glyphs": [(glyph, standing) for standing, glyph in GLYPHS.items()],
        "status": wanted,
        "shown": [item for item in page.items if not wanted or item.standing == wanted],
        "map": bank_pages.map_of_items(page, ratings),
        "findings": findings,
        "newest": drafting.newest(found),
        "draft": drafting.open_draft(found),
        "may_draft": Role.ADMIN in request.user.roles,
    }
    return render(request, "rating/bank_of.html", context)


@require_safe
@role_required(*STAFF, Role.ITEM_REVIEWER)
@waits
def item(request: StaffRequest, pk: int, code: str) -> HttpResponse:
    """One item: what is asked, its levels, where it stands, and what ratings say of it."""
    found = _item(pk, code)
    staff = not request.user.roles.isdisjoint(STAFF)
    if not staff and not _reviewed(request.user, found):
        raise Http404
    chamber, versions = _versions(found)
    context: dict[str, Any] = {
        "staff": staff,
        "bank": found.bank,
        "item": found,
        "title": bank_pages.title_of(found) or ("" if staff else "An item"),
        "place": bank_pages.place_of(found, chamber),
        "versions": versions,
        "ratio": word_ratio(versions[0]["prompt"], versions[1]["prompt"])
        if len(versions) == 2
        else None,
        "anchors": found.anchors.all(),
        "notes": bank_pages.notes_of(found),
        "details": found.details,
        "standing": standings([found.content_hash])[found.content_hash],
        "reviews": _reviews(found),
    }
    context["glyph"] = GLYPHS[context["standing"]]
    if staff:
        context |= _for_staff(request, found, chamber, [one["code"] for one in versions])
    return render(request, "rating/item.html", context)


@role_required(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def draft_item(request: StaffRequest, pk: int, code: str) -> HttpResponse:
    """Change an item for the next version, or leave it as it is after all."""
    found = _item(pk, code)
    now = timezone.now()
    if request.method == "POST" and request.POST.get("do") == "drop":
        try:
            drafting.drop_change(found)
        except drafting.DraftRefused as why:
            messages.error(request, str(why))
        else:
            messages.info(request, f"{found.code} stays as it is in the next version.")
        return redirect("rating:draft_version", pk=pk)
    change = _change(found)
    texts = drafting.texts_of(
        drafting.row_of(found.bank, found.code), own_anchors=found.has_own_anchors
    )
    form = ItemDraftForm(
        request.POST if request.method == "POST" else None,
        texts=texts,
        content=change.content if change else {},
        reason=change.reason if change else "",
        edition=change.edition if change else 0,
    )
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                drafting.save_change(
                    found,
                    request.user,
                    form.changed,
                    form.cleaned_data["reason"],
                    edition=form.cleaned_data["edition"] or 0,
                    now=now,
                )
            except drafting.DraftRefused as why:
                form.add_error(None, str(why))
                change, status = _change(found), 409
                form.renew(change.edition if change else 0)
            else:
                messages.info(request, "Saved. Below is what changes.")
                return redirect("rating:draft_item", pk=pk, code=code)
    draft = change.draft if change else None
    context = {
        "bank": found.bank,
        "item": found,
        "title": bank_pages.title_of(found),
        "form": form,
        "change": change,
        "differences": drafting.differences(texts, change.content) if change else [],
        "findings": _findings(draft, found, now=now) if draft else [],
        "reviews": _reviews(found),
        "newest": drafting.newest(found.bank),
        "common": not found.has_own_anchors,
    }
    return render(request, "rating/draft_item.html", context, status=status)


@role_required(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def draft(request: StaffRequest, pk: int) -> HttpResponse:
    """All that the next version changes, what the checks say of it, and the freezing of it."""
    found = _bank(pk)
    now = timezone.now()
    held = drafting.open_draft(found)
    posted = request.method == "POST"
    if posted and held is None and (frozen := found.drafts.exclude(frozen_at=None).last()):
        messages.info(request, f"This draft is frozen already, as {frozen.frozen_as}.")
        return redirect("rating:bank_of", pk=frozen.frozen_as_id)
    form = FreezeForm(
        request.POST if posted else None,
        initial={"version": drafting.next_version(found.version)},
    )
    status = 422 if posted else 200
    refused: tuple[Any, ...] = ()
    if posted and held and form.is_valid():
        try:
            new, kept, lost = drafting.freeze(
                held, request.user, form.cleaned_data["version"], now=now
            )
        except drafting.DraftRefused as why:
            form.add_error(None, str(why))
            status = 409
        except BankRefused as why:
            refused = why.faults
            form.add_error(
                None, "The checks found faults, so nothing was frozen. They stand above."
            )
        else:
            messages.info(request, _frozen(new, kept, lost))
            return redirect("rating:bank_of", pk=new.pk)
    outcome = drafting.outcome_of(held, now=now) if held else None
    context = {
        "bank": found,
        "draft": held,
        "form": form,
        "changes": _changes(held, found) if held else [],
        "outcome": outcome,
        "findings": refused or (_about_draft(outcome, found) if outcome else []),
        "reviews_lost": _live(outcome.lost, found) if outcome else 0,
        "newest": drafting.newest(found),
    }
    return render(request, "rating/draft.html", context, status=status)


def _bank(pk: int) -> Bank:
    return get_object_or_404(Bank.objects.exclude(frozen_at=None), pk=pk)


def _item(pk: int, code: str) -> Item:
    return get_object_or_404(
        Item.objects.select_related("bank").exclude(bank__frozen_at=None), bank=pk, code=code
    )


def _reviewed(person: User, found: Item) -> bool:
    """Whether this person has sent a review of what the item says now."""
    return ItemReview.objects.filter(
        content_hash=found.content_hash, reviewer=person, superseded_by=None
    ).exists()


def _versions(found: Item) -> tuple[str, list[dict[str, Any]]]:
    """The chamber of an item and what is asked: once, or both versions side by side."""
    pair = (
        Pair.objects.filter(bank=found.bank, arm_a=found)
        | Pair.objects.filter(bank=found.bank, arm_b=found)
    ).select_related("arm_a", "arm_b")
    for both in pair:
        sides = (("Version A", both.arm_a), ("Version B", both.arm_b))
        return both.chamber, [_asked(name, one) for name, one in sides]
    variants = found.details.get("variants") or []
    if not variants:
        return "", [_asked("", found)]
    first = _asked("", found)
    return "", [
        {**first, "name": f"Version {one['variantId']}", "prompt": one["prompt"]}
        for one in variants
    ]


def _asked(name: str, one: Item) -> dict[str, Any]:
    return {
        "name": name,
        "code": one.code,
        "turns": [(turn["role"] == "assistant", turn["content"]) for turn in one.turns],
        "prompt": one.prompt,
        "language": one.language,
    }


def _reviews(found: Item) -> list[dict[str, Any]]:
    """The live reviews, oldest first, with each criterion in words."""
    return [
        {
            "who": review.reviewer.pseudonym,
            "verdict": review.get_verdict_display(),
            "criteria": [(CRITERION[name], getattr(review, name)) for name in CRITERIA],
            "misses": [CRITERION[name] for name in CRITERIA if not getattr(review, name)],
            "concern": review.concern,
            "minutes": review.minutes,
            "at": review.reviewed_at,
            "still": review.still_stands_of_id is not None,
        }
        for review in reviews_of(found.content_hash)
    ]


def _for_staff(
    request: StaffRequest, found: Item, chamber: str, codes: list[str]
) -> dict[str, Any]:
    """What is kept from reviewers: the checks, what ratings say, and the way to the next version."""
    others = bank_pages.others_of(found, chamber)
    worked_out = figures("items", None, hashes=sorted({found.content_hash, *others}))
    ratings: Ratings = worked_out.value
    known: ItemFigures = ratings.figures(found.content_hash, found.bank.levels, others)
    if request.method == "GET":
        record_figures(request.user, known.waves)
    tell(request, worked_out)
    pair_codes = Pair.objects.filter(bank=found.bank, chamber=chamber, arm_a__code__in=codes)
    about = [*codes, *(pair_codes.values_list("code", flat=True) if chamber else [])]
    return {
        "findings": drafting.of_item(drafting.findings_of_bank(found.bank), *about),
        "figures": known,
        "chart": anchor_use_chart(known.use) if known.use else "",
        "may_draft": Role.ADMIN in request.user.roles,
        "change": _change(found),
        "newest": drafting.newest(found.bank),
        "next": found.bank.items.filter(position__gt=found.position).first(),
    }


def _change(found: Item) -> ItemChange | None:
    return (
        ItemChange.objects.filter(item=found, draft__base=found.bank, draft__frozen_at=None)
        .select_related("draft__base", "saved_by")
        .first()
    )


def _findings(held: BankDraft, found: Item, *, now: datetime) -> list[Any]:
    findings = drafting.outcome_of(held, now=now).findings
    return drafting.of_item(findings, found.code)


def _changes(held: BankDraft, base: Bank) -> list[dict[str, Any]]:
    """Each changed item with what changes, in the order of the bank."""
    rows = {row["id"]: row for row in base.as_data()["items"]}
    changes = held.changes.select_related("item", "saved_by").order_by("item__position")
    return [
        {
            "change": change,
            "title": bank_pages.title_of(change.item),
            "differences": drafting.differences(
                drafting.texts_of(rows[change.item.code]), change.content
            ),
        }
        for change in changes
    ]


def _about_draft(outcome: drafting.Outcome, base: Bank) -> list[Any]:
    """Faults, and the warnings that the base does not have already."""
    known = set(drafting.findings_of_bank(base))
    return [fault for fault in outcome.findings if not fault.warning or fault not in known]


def _live(codes: tuple[str, ...], base: Bank) -> int:
    """How many live reviews stand on the words that change."""
    hashes = base.items.filter(code__in=codes).values("content_hash")
    return ItemReview.objects.filter(content_hash__in=hashes, superseded_by=None).count()


def _frozen(new: Bank, kept: int, lost: int) -> str:
    items = f"{kept} item{' keeps' if kept == 1 else 's keep'} what reviews they have"
    return f"{new} is frozen. {items}; {lost} {'starts' if lost == 1 else 'start'} anew."
