"""The next version of a bank: drafted on pages, checked, and frozen by the way every bank comes in."""

import re
from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains

from rating import drafting
from rating.models import BankDraft, Event, ItemChange, Role
from runs.bank import BankRefused, check_bank
from runs.models import Bank
from tests.factories import bank_data, item_data, make_bank, make_user, pair_bank_data
from tests.rating.test_bank_pages import review

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)


# The plain part


def turn(role, content):
    return {"role": role, "content": content}


def changed(row, **content):
    given = {name.replace("_", "-", 1): text for name, text in content.items()}
    return drafting.changed_row(row, given, version="1", now=NOW)


def test_a_changed_prompt_keeps_the_earlier_one():
    row = item_data(0, validationStatus="validated", reviewers=["a", "b"])

    new = drafting.changed_row(row, {"prompt": "Another?"}, version="v1", now=NOW)

    assert new["supersedes"] == {
        "priorBankVersion": "v1",
        "prompt": row["prompt"],
        "validationStatus": "validated",
    }
    assert (new["prompt"], new["validationStatus"], new["reviewers"]) == (
        "Another?",
        "unvalidated",
        None,
    )
    assert row["prompt"] != "Another?"


def test_a_changed_level_changes_that_level_alone():
    new = changed(item_data(0), anchor_3="Now clear.")

    assert [anchor["description"] for anchor in new["anchors"]] == [
        "Level 1 of 0.",
        "Level 2 of 0.",
        "Now clear.",
        "Level 4 of 0.",
        "Level 5 of 0.",
    ]
    assert "supersedes" not in new


def test_an_exchange_is_added_and_taken_away():
    row = item_data(0)
    more = changed(row, turn_0="Hello", turn_1="Good day")
    assert more["turns"] == [turn("user", "Hello"), turn("assistant", "Good day")]

    less = changed(more, turn_0="", turn_1="")
    assert less["turns"] == []


def test_notes_go_where_a_bank_file_keeps_them():
    row = item_data(0, dates={"authored": "2026-01-01"})
    new = drafting.changed_row(
        row, {"title": "T", "cultural_notes": "C", "what_to_observe": "W"}, version="1", now=NOW
    )

    assert new["sourceOnlyFields"] == {"title": "T", "whatToObserve": "W"}
    assert new["culturalAccessibilityNotes"] == "C"
    assert new["dates"] == {"authored": "2026-01-01", "lastModified": "2026-11-30"}


def test_the_first_variant_follows_the_prompt():
    arms = [{"variantId": "a", "prompt": "One?"}, {"variantId": "b", "prompt": "Two?"}]
    row = item_data(0, prompt="One?", variants=arms)
    names = [text.name for text in drafting.texts_of(row)]

    new = changed(row, prompt="Uno?", variant_1="Due?")

    assert ("variant-0" in names, "variant-1" in names) == (False, True)
    assert [arm["prompt"] for arm in new["variants"]] == ["Uno?", "Due?"]


def test_a_filled_placeholder_is_declared_filled():
    row = item_data(0, prompt="Ask [name].", promptIntegrity={"hasUnfilledPlaceholder": True})

    assert changed(row, prompt="Ask her.")["promptIntegrity"] == {"hasUnfilledPlaceholder": False}


def test_line_ends_of_a_browser_are_no_change():
    assert drafting.tidied("one\r\ntwo", "one\ntwo") == "one\ntwo"
    assert drafting.tidied("one\r\ntwo", "one\r\ntwo") == "one\r\ntwo"
    assert drafting.tidied("one\r\nthree", "one\r\ntwo") == "one\nthree"


@pytest.mark.parametrize(
    ("version", "follows"),
    [("demo-1", "demo-2"), ("v2.9", "v2.10"), ("1.0-draft", "1.0-draft-2"), ("9", "10")],
)
def test_the_version_that_follows(version, follows):
    assert drafting.next_version(version) == follows


# The pages


@pytest.fixture
def admin(client, db):
    admin = make_user(Role.ADMIN)
    client.force_login(admin)
    return admin


@pytest.fixture
def bank(db):
    return make_bank(bank_data(3, bankVersion="one-1"))


def url_of(item) -> str:
    return reverse("rating:draft_item", args=[item.bank_id, item.code])


def version_url(bank) -> str:
    return reverse("rating:draft_version", args=[bank.pk])


def typed(client, item, **changes) -> dict[str, str]:
    """The form of an item as a browser would send it, with something typed."""
    form = client.get(url_of(item)).context["form"]
    fields = {field.html_name: field.value() or "" for field in form}
    given = {re.sub(r"^(turn|anchor)_", r"\1-", name): text for name, text in changes.items()}
    return {**fields, "reason": "A reviewer could not tell them apart.", **given}


def draft(client, item, **changes):
    return client.post(url_of(item), typed(client, item, **changes))


def test_what_is_saved_is_shown_word_by_word(client, admin, bank):
    item = bank.items.first()

    assert draft(client, item, anchor_3="Level 3 of all.").status_code == 302

    page = client.get(url_of(item))
    assertContains(page, '<del><span class="visually-hidden">[removed: </span>0')
    assertContains(page, '<ins><span class="visually-hidden">[added: </span>all')
    change = ItemChange.objects.get()
    assert (change.content, change.saved_by) == ({"anchor-3": "Level 3 of all."}, admin)


def test_the_wording_of_a_draft_is_checked_too(client, admin, bank):
    item = bank.items.first()

    draft(client, item, anchor_2="Help is thinner than it would be for a man.")

    compares = "compares with a reply that the rater does not see"
    assertContains(client.get(url_of(item)), compares)
    assertContains(client.get(version_url(bank)), compares)


def test_the_concerns_of_reviewers_stand_beside(client, admin, bank):
    item = bank.items.first()
    review(item, verdict="needs-revision", concern="Level 3 is vague.")

    assertContains(client.get(url_of(item)), "Level 3 is vague.")


def test_bad_input_is_said_and_nothing_typed_is_lost(client, admin, bank):
    item = bank.items.first()

    for changes, said in (
        ({"prompt": " "}, "This text is empty."),
        ({"reason": ""}, "Say in a sentence why this changes."),
        ({"turn_0": "Hello"}, "An exchange ends with the answer."),
        ({"turn_1": "Hello"}, "This is empty, and something follows."),
        ({"prompt": "a\x00b"}, "This text holds a NUL"),
    ):
        page = draft(client, item, **{"anchor_2": "My own <words>", **changes})
        assertContains(page, said, status_code=422)
        assertContains(page, "My own &lt;words&gt;", status_code=422)
    assertContains(draft(client, item), "Nothing is different", status_code=422)
    assert not ItemChange.objects.exists()


def test_two_who_change_one_item_are_told(client, admin, bank):
    item = bank.items.first()
    mine = typed(client, item, prompt="Mine?")
    draft(client, item, prompt="Theirs?")

    page = client.post(url_of(item), mine)

    assertContains(page, "Somebody else changed this draft", status_code=409)
    assertContains(page, "Mine?", status_code=409)
    assert ItemChange.objects.get().content == {"prompt": "Theirs?"}
    again = {field.html_name: field.value() or "" for field in page.context["form"]}
    assert client.post(url_of(item), again).status_code == 302
    assert ItemChange.objects.get().content == {"prompt": "Mine?"}


def test_an_item_can_stay_as_it_is_after_all(client, admin, bank):
    item = bank.items.first()
    draft(client, item, prompt="Another?")

    client.post(url_of(item), {"do": "drop"})

    assert not ItemChange.objects.exists()
    assertContains(client.get(version_url(bank)), "Nothing is drafted yet.")


def test_levels_that_are_the_banks_are_not_changed_in_one_item(client, admin):
    bank = make_bank(pair_bank_data(1))

    page = client.get(url_of(bank.items.first()))

    assertContains(page, "The levels of this item are those of the whole bank.")
    assert not [name for name in page.context["form"].fields if name.startswith("anchor")]


def test_freezing_makes_a_version_and_says_who_keeps_their_reviews(client, admin, bank):
    changed, noted, same = bank.items.all()
    for item in (changed, noted, same):
        review(item)
    draft(client, changed, anchor_3="Now clear.")
    draft(client, noted, title="A title")

    page = client.get(version_url(bank))
    assertContains(page, "2 of 3 items keep the reviews they have")
    assertContains(page, f"1 starts anew: {changed.code}. 1 review stands on their earlier words")
    answer = client.post(version_url(bank), {"version": "one-2"}, follow=True)

    new = Bank.objects.get(version="one-2")
    assertContains(answer, "is frozen. 2 items keep what reviews they have; 1 starts anew.")
    hashes = dict(new.items.values_list("code", "content_hash"))
    assert hashes[same.code] == same.content_hash
    assert hashes[noted.code] == noted.content_hash
    assert hashes[changed.code] != changed.content_hash
    assert new.items.get(code=noted.code).details["sourceOnlyFields"]["title"] == "A title"
    [entry] = new.meta["changelog"]
    assert (entry["version"], entry["author"], entry["priorBankVersion"]) == (
        "one-2",
        admin.pseudonym,
        "one-1",
    )
    assert entry["changes"][0] | {"date": ""} == {
        "itemId": changed.code,
        "fields": ["anchor-3"],
        "why": "A reviewer could not tell them apart.",
        "author": admin.pseudonym,
        "date": "",
    }
    assert Event.objects.get(kind="freeze").about["hash"] == new.content_hash
    bank.refresh_from_db()
    assert bank.meta.get("changelog") is None


def test_pairs_come_through_a_draft_whole(client, admin):
    bank = make_bank(pair_bank_data(2))
    item = bank.items.first()
    draft(client, item, prompt="I am A and alone, 0 days now.")

    client.post(version_url(bank), {"version": "next"})

    new = Bank.objects.get(version="next")
    assert new.pairs.count() == 2
    assert new.levels == bank.levels
    assert new.items.first().details["supersedes"]["prompt"] == item.prompt


def test_faults_keep_a_draft_from_being_frozen(client, admin, bank):
    item = bank.items.first()
    draft(client, item, prompt="Dear [name], what now?")

    assertContains(client.get(url_of(item)), "is a placeholder that nobody filled")
    assertContains(client.get(version_url(bank)), "The checks found 1 fault.")
    page = client.post(version_url(bank), {"version": "one-2"})

    assertContains(page, "so nothing was frozen", status_code=422)
    assert Bank.objects.count() == 1


def test_an_older_version_is_not_drafted_on(client, admin, bank):
    item = bank.items.first()
    draft(client, item, prompt="Another?")
    later = make_bank(bank_data(4, bankVersion="two"))

    page = client.get(version_url(bank))
    assertContains(page, f"{later} came in after {bank}.")
    assertContains(page, "Another")
    answer = client.post(version_url(bank), {"version": "one-2"})
    assertContains(answer, "so the next version stands on that one", status_code=409)
    saved = draft(client, item, prompt="A third?")
    assertContains(saved, "A third?", status_code=409)
    assert not Bank.objects.filter(version="one-2").exists()


def test_a_version_that_exists_is_refused(client, admin, bank):
    draft(client, bank.items.first(), prompt="Another?")

    for version, said in (
        ("one-1", "has a version one-1 already"),
        ("", "Give the version a name"),
    ):
        page = client.post(version_url(bank), {"version": version})
        assertContains(page, said, status_code=page.status_code)
        assert page.status_code in (409, 422)
    assert Bank.objects.count() == 1


def test_freezing_twice_freezes_once(client, admin, bank):
    draft(client, bank.items.first(), prompt="Another?")

    for _ in range(2):
        answer = client.post(version_url(bank), {"version": "one-2"}, follow=True)

    assertContains(answer, "is frozen already, as Model Index one-2")
    assert Bank.objects.count() == 2


def test_only_what_the_import_accepts_becomes_a_version(admin, bank):
    """The same way in as a file: no other."""
    item = bank.items.first()
    drafting.save_change(item, admin, {"prompt": " "}, "why", edition=0, now=NOW)

    with pytest.raises(BankRefused, match="prompt"):
        drafting.freeze(BankDraft.objects.get(), admin, "x", now=NOW)
    assert Bank.objects.count() == 1


def test_the_next_version_passes_its_checks_again(admin, bank):
    drafting.save_change(bank.items.first(), admin, {"prompt": "A?"}, "why", edition=0, now=NOW)
    data = drafting.data_of(BankDraft.objects.get(), version="x", person=admin, now=NOW)

    new, kept, lost = drafting.freeze(BankDraft.objects.get(), admin, "x", now=NOW)

    assert new.content_hash == check_bank(data).content_hash
    assert (kept, lost) == (2, 1)


# What the database refuses


@pytest.fixture
def frozen(admin, bank):
    drafting.save_change(bank.items.first(), admin, {"prompt": "A?"}, "why", edition=0, now=NOW)
    drafting.freeze(BankDraft.objects.get(), admin, "x", now=NOW)
    return BankDraft.objects.get()


def refused(match: str):
    return pytest.raises(IntegrityError, match=match)


def test_what_became_a_version_stays_as_it_was_drafted(frozen, admin, bank):
    change = frozen.changes.get()
    other = bank.items.last()
    for attempt in (
        lambda: frozen.changes.update(reason="other"),
        lambda: frozen.changes.all()._raw_delete("default"),
        lambda: BankDraft.objects.update(frozen_at=None, frozen_as=None, frozen_by=None),
        lambda: BankDraft.objects.all()._raw_delete("default"),
        lambda: ItemChange.objects.create(
            draft=frozen, item=other, content={}, reason="late", saved_by=admin
        ),
    ):
        with refused("stays as it was drafted"), transaction.atomic():
            attempt()
    change.refresh_from_db()
    assert change.reason == "why"


def test_a_bank_has_one_open_draft(admin, bank):
    BankDraft.objects.create(base=bank, begun_by=admin)

    with pytest.raises(IntegrityError), transaction.atomic():
        BankDraft.objects.create(base=bank, begun_by=admin)


def test_a_draft_stays_with_its_bank(admin, bank):
    held = BankDraft.objects.create(base=bank, begun_by=admin)
    other = make_bank(bank_data(1, name="Another"))

    with refused("stays the draft of its version"), transaction.atomic():
        BankDraft.objects.filter(pk=held.pk).update(base=other)
    with refused("to an item of the version"), transaction.atomic():
        ItemChange.objects.create(
            draft=held, item=other.items.get(), content={}, reason="why", saved_by=admin
        )


def test_a_draft_is_frozen_whole_and_as_another_bank(admin, bank):
    held = BankDraft.objects.create(base=bank, begun_by=admin)

    with pytest.raises(IntegrityError), transaction.atomic():
        BankDraft.objects.filter(pk=held.pk).update(frozen_at=timezone.now())
    with pytest.raises(IntegrityError), transaction.atomic():
        BankDraft.objects.filter(pk=held.pk).update(
            frozen_at=timezone.now(), frozen_as=bank, frozen_by=admin
        )


def test_a_change_says_why_and_stands_once(admin, bank):
    drafting.save_change(bank.items.first(), admin, {"prompt": "A?"}, "why", edition=0, now=NOW)
    change = ItemChange.objects.get()

    with pytest.raises(IntegrityError), transaction.atomic():
        ItemChange.objects.update(reason="")
    with pytest.raises(IntegrityError), transaction.atomic():
        ItemChange.objects.create(
            draft=change.draft, item=change.item, content={}, reason="again", saved_by=admin
        )
