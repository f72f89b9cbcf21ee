"""Whoever gets past the database is found: every column of every table, and every way to do it."""

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.db import DataError, IntegrityError, connection, models, transaction
from django.utils import timezone

from rating import tasks
from rating.events import seal_events
from rating.integrity import checking, sealing
from rating.integrity.checking import Finding, Walked, check
from rating.integrity.declared import (
    NOT_SEALED,
    SEALED,
    Sealed,
    all_models,
    columns_of,
    declared,
    model_of,
    parts,
)
from rating.integrity.digests import key_text
from rating.integrity.shelf import Shelf
from rating.models import Event, Quote, Rating, Role, SkipReason, Slot, User
from rating.publishing import acts
from rating.queue import skip, undo
from rating.seals import Seal, Touch
from runs.guards import GUARDED, all_guards, install, lifted, missing
from runs.models import Anchor, Response
from tests.factories import bank_data, leased, make_bank, make_rater, make_user, make_wave, rated
from tests.rating import sealed_world
from tests.rating.publishing.made import QUICK
from tests.rating.publishing.waves import unblind

pytestmark = pytest.mark.django_db


def found(*anchors: Any) -> list[Finding]:
    return list(check(Walked(), anchors))


def named(findings: list[Finding]) -> set[tuple[str, str]]:
    return {(one.table, one.key) for one in findings}


# What is sealed


def test_every_table_is_sealed_or_says_why_not():
    known = {one.table for one in SEALED} | parts().keys() | NOT_SEALED.keys()

    assert all_models().keys() - known == set()
    assert all(NOT_SEALED.values())


def test_every_column_that_is_named_is_one_of_its_table_and_none_is_named_twice():
    for one in declared():
        names = [*one.moving, *one.personal, *one.left_out]
        there = {*columns_of(one.model), "session_salt"}
        assert set(names) <= there, one.table
        assert len(names) == len(set(names)), one.table
        assert all(one.left_out.values()), one.table
        assert bool(one.personal) == bool(one.salt), one.table


def test_a_personal_column_is_never_in_a_hash_without_its_salt():
    assert {one.table: one.personal for one in declared() if one.personal}.keys() == {
        "rating_user",
        "rating_assignment",
        "rating_reviewhold",
        "rating_conflict",
        "rating_pause",
    }


# Every column


class Refused(AssertionError):
    """The database takes no other value for a column."""


class Tampering:
    """Changes one column of one row by plain SQL, and puts it back."""

    def __init__(self, model: type[models.Model], key: Any) -> None:
        self.model, self.key = model, key
        self.table, self.pk = model._meta.db_table, model._meta.pk

    def values(self, field: "models.Field[Any, Any]") -> Iterator[Any]:
        """Other values a column may be given; the first that the database takes is used."""
        row = self.model._base_manager.filter(pk=self.key)
        now = row.values_list(field.attname, flat=True).get()
        if field.is_relation:
            others = field.related_model._base_manager.exclude(pk=now)
            taken = self.model._base_manager.values_list(field.attname, flat=True)
            yield from others.exclude(pk__in=[one for one in taken if one]).values_list(
                "pk", flat=True
            )[:1]
            yield from others.values_list("pk", flat=True)[:3]
        if field.null and now is not None:
            yield None
        if isinstance(field, models.BooleanField):
            yield not now
        elif isinstance(field, models.DateTimeField):
            yield (now or timezone.now()) - timedelta(seconds=1)
        elif isinstance(field, models.DateField):
            yield date(2001, 1, 1)
        elif isinstance(field, models.JSONField):
            yield ["changed"] if isinstance(now, list) else {"changed": 1}
        elif isinstance(field, models.BinaryField):
            yield b"changed"
        elif isinstance(field, models.UUIDField):
            yield "00000000-0000-4000-8000-000000000000"
        elif isinstance(field, models.CharField | models.TextField):
            yield from (
                [value for value, _ in field.flatchoices if value != now] if field.choices else ()
            )
            yield "changed"[: field.max_length]
        else:
            yield from (number for number in (1, 2, 3, 4, 99) if number != now)
            if not isinstance(now, UUID):
                yield (now or 0) + 777_777

    def change_somehow(self, field: "models.Field[Any, Any]") -> Any:
        """Give a column another value; return the one it had."""
        rows = self.model._base_manager.filter(pk=self.key)
        before = rows.values_list(field.attname, flat=True).get()
        for value in self.values(field):
            if value == before:
                continue
            try:
                with transaction.atomic():
                    self.change(field, value)
            except (IntegrityError, DataError):
                continue
            if field.primary_key:
                self.key = value
            return before
        raise Refused(f"nothing to change {self.table}.{field.attname} to")

    def can_change(self, field: "models.Field[Any, Any]") -> bool:
        try:
            self.change_somehow(field)
        except Refused:
            return False
        return True

    def change(self, field: "models.Field[Any, Any]", value: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                f'UPDATE {self.table} SET "{field.column}" = %s WHERE "{self.pk.column}" = %s',
                [
                    field.get_db_prep_save(value, connection),
                    self.pk.get_db_prep_value(self.key, connection),
                ],
            )


@pytest.fixture
def world():
    sealed_world.build()
    assert [str(one) for one in found()] == []


@pytest.fixture
def nothing_refuses(world):
    """As somebody with all rights over the database has it: no trigger and no constraint."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA ignore_check_constraints = ON")
        else:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute(
                "SELECT conrelid::regclass::text, conname FROM pg_constraint"
                " WHERE contype IN ('c', 'f') AND connamespace = 'public'::regnamespace"
            )
            for table, name in cursor.fetchall():
                cursor.execute(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"')
    with lifted():
        yield
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA ignore_check_constraints = OFF")


def looked_at(
    tables: list[Sealed], shelf: Shelf, shapes: list[dict[str, Any]]
) -> set[tuple[str, str]]:
    """What a walk finds in some tables. The seals were put on the shelf before."""
    shelf.db.execute("UPDATE sealed SET seen = 0")
    walked = Walked()
    assert list(checking._log(walked, shelf, quiet)) == []
    return named(
        [one for own in tables for one in checking._rows(own, walked, shelf, shapes, quiet)]
    )


def quiet(what: str, rows: int) -> None:
    pass


def test_a_change_of_any_column_of_any_sealed_table_is_found_with_its_row(
    nothing_refuses, tmp_path
):
    shelf, shapes = Shelf(tmp_path / "shelf"), []
    assert list(checking._seals(Walked(), shelf, shapes, quiet)) == []
    missed, tried = [], 0
    for one in declared():
        of_it = [(one.model, "", one.table)]
        of_it += [(model_of(part), leads, one.table) for part, leads in one.parts]
        for model, leads, table in of_it:
            row = model._base_manager.order_by("pk").last()
            assert row is not None, f"the world has no row in {model._meta.db_table}"
            named_as = key_text(getattr(row, leads) if leads else row.pk)
            for field in model._meta.concrete_fields:
                if not leads and field.attname in one.left_out:
                    continue
                tampering = Tampering(model, row.pk)
                before = tampering.change_somehow(field)
                tried += 1
                if (table, named_as) not in looked_at([one], shelf, shapes):
                    missed.append(f"{model._meta.db_table}.{field.attname}")
                tampering.change(field, before)
    assert missed == []
    assert tried > 250
    assert looked_at(declared(), shelf, shapes) == set()


def test_the_database_refuses_to_change_what_never_changes_in_any_sealed_row(world):
    changed, tried = [], 0
    for one in declared():
        rows = one.model._base_manager.order_by("-pk")
        row = next(row for row in rows if one.settled(vars(row)))
        fields = {field.attname: field for field in one.model._meta.concrete_fields}
        for name in one.fixed:
            tried += 1
            with transaction.atomic():
                if Tampering(one.model, row.pk).can_change(fields[name]):
                    changed.append(f"{one.table}.{name}")
                transaction.set_rollback(True)
    assert changed == []
    assert tried > 200


def test_a_change_of_any_column_of_the_log_or_of_a_seal_is_found(nothing_refuses):
    missed = []
    for model in (Event, Seal):
        rows = list(model._base_manager.order_by("pk").values_list("pk", flat=True))
        for key in (rows[0], rows[-1]):
            for field in model._meta.concrete_fields:
                tampering = Tampering(model, key)
                before = tampering.change_somehow(field)
                walked, shelf = Walked(), ShelfOf()
                wrong = [
                    *checking._log(walked, shelf, quiet),
                    *checking._seals(walked, shelf, [], quiet),
                ]
                if not wrong and not walked.unknown_keys:
                    missed.append(f"{model._meta.db_table}.{field.attname} of {key}")
                tampering.change(field, before)
    assert missed == []


class ShelfOf:
    """A shelf that keeps nothing."""

    def seal(self, *_: Any) -> None: ...

    def act(self, rows: Iterator[Any]) -> None:
        list(rows)


def test_a_change_of_any_column_of_a_slot_is_found(nothing_refuses):
    slot = Slot.objects.filter(state="rated").last()
    missed = []
    for field in Slot._meta.concrete_fields:
        if field.primary_key or field.attname == "partner_id":
            continue
        tampering = Tampering(Slot, slot.pk)
        before = tampering.change_somehow(field)
        if not list(checking.faults()):
            missed.append(field.attname)
        tampering.change(field, before)
    assert missed == []


# Other ways


@pytest.fixture
def ratings():
    make_wave(make_bank(bank_data(3)))
    rater = make_rater()
    given = [rated(rater, level) for level in (1, 2, 3)]
    assert found() == []
    return given


def test_a_deleted_rating_is_found_and_so_is_one_put_in(ratings):
    gone, kept = ratings[0], ratings[1]
    with lifted():
        Quote.objects.filter(rating=gone)._raw_delete("default")
        Rating.objects.filter(pk=gone.pk)._raw_delete("default")
        new = Rating.objects.get(pk=kept.pk)
        new.pk = new.id = "00000000-0000-4000-8000-000000000000"
        new.kind, new.slot, new.assignment = "surplus", None, None
        new.save(force_insert=True)

    wrong = {(one.key, one.what) for one in found()}

    assert (gone.pk.hex, "it was sealed, and is gone") in wrong
    assert (gone.pk.hex, "the log says that it was given, and it is not there") in wrong
    assert (key_text(new.pk), "it is not sealed: it was put in past the triggers") in wrong
    assert (key_text(new.pk), "the log does not know that it was given") in wrong


def test_two_ratings_whose_levels_were_swapped_are_both_found(ratings):
    one, other = ratings[:2]
    with lifted():
        Rating.objects.filter(pk=one.pk).update(anchor=other.anchor)
        Rating.objects.filter(pk=other.pk).update(anchor=one.anchor)

    assert {("rating_rating", one.pk.hex), ("rating_rating", other.pk.hex)} <= named(found())


def test_a_quote_or_an_anchor_that_was_put_in_is_found_with_what_it_belongs_to(ratings):
    item = ratings[1].response.item
    with lifted():
        Quote.objects.create(rating=ratings[0], start=40, end=60)
        Anchor.objects.create(item=item, level=9, label="9", description="Better still.")

    assert named(found()) == {("rating_rating", ratings[0].pk.hex), ("runs_item", str(item.pk))}


def test_a_rating_taken_out_by_hand_is_found_though_every_trigger_stood(ratings):
    Rating.objects.filter(pk=ratings[0].pk).update(withdrawn_at=timezone.now())

    assert ("rating_rating", ratings[0].pk.hex) in named(found())


def test_a_change_that_left_its_mark_is_found_by_the_seal_before_it(ratings):
    """Whoever takes the guards away and leaves the marks has the change sealed, beside the first."""
    with lifted():
        Rating.objects.filter(pk=ratings[0].pk).update(note="Another note.")
    Touch.objects.create(table="rating_rating", key=str(ratings[0].pk))

    assert [(one.key, one.what) for one in found()] == [
        (ratings[0].pk.hex, "what never changes in it was changed after it was sealed")
    ]


def test_the_end_of_the_log_cut_off_is_found(ratings):
    with lifted():
        Event.objects.filter(pk=Event.objects.latest("pk").pk)._raw_delete("default")

    wrong = named(found())

    assert ("rating_rating", ratings[2].pk.hex) in wrong
    assert "rating_event" in {table for table, _ in wrong}


def chain_again(secret: str = "") -> None:
    """Seal all seals anew, from the first one, as somebody who knows how might."""
    before = ""
    with lifted():
        for seal in Seal.objects.order_by("number"):
            log = seal.log_event, seal.log_seal
            seal.previous = before
            seal.seal = sealing.seal_hash(
                seal.number, seal.sealed_at, bytes(seal.content), log, before
            )
            if secret:
                seal.key_name = sealing.key_name(secret)
                seal.stamp = sealing.stamp_of(seal.seal, secret)
            seal.save()
            before = seal.seal


def reseal_everything(secret: str = "") -> None:
    """Change a rating, throw all seals away and seal what is there now."""
    with lifted():
        Rating.objects.filter(pk=Rating.objects.first().pk).update(note="Another note.")
        Seal.objects.all()._raw_delete("default")
        sealing.mark_all()
    sealing.seal_all()
    chain_again(secret)


def test_seals_made_again_without_the_key_are_found(ratings):
    reseal_everything(secret="guessed")
    said = io.StringIO()

    with pytest.raises(CommandError, match="seals are stamped with a key that is not here") as why:
        call_command("verify", "--json", stdout=said)
    assert why.value.returncode == 3
    assert json.loads(said.getvalue())["unknown_keys"] > 0

    with lifted():
        Seal.objects.update(key_name=sealing.key_name())
    assert {one.what for one in found()} == {"its stamp is not of the key of this installation"}


def test_whoever_has_the_key_too_is_found_by_an_anchor_kept_elsewhere(ratings, tmp_path):
    anchor = tmp_path / "anchor.json"
    call_command("verify", "--write-anchor", str(anchor))
    reseal_everything()
    assert found() == []

    with pytest.raises(CommandError, match="was another one at the anchor"):
        call_command("verify", "--anchor", str(anchor))


def test_a_database_put_back_to_an_earlier_day_is_found_by_an_anchor(ratings, tmp_path):
    anchor = tmp_path / "anchor.json"
    later = rated(make_rater())
    call_command("verify", "--write-anchor", str(anchor))
    with lifted():
        last = Event.objects.latest("pk")
        Seal.objects.filter(log_event__gte=last.pk)._raw_delete("default")
        Event.objects.filter(pk=last.pk)._raw_delete("default")
        Quote.objects.filter(rating=later)._raw_delete("default")
        Rating.objects.filter(pk=later.pk)._raw_delete("default")

    with pytest.raises(CommandError, match="was there at the anchor and is gone"):
        call_command("verify", "--anchor", str(anchor))


def test_an_anchor_that_is_none_is_refused(tmp_path):
    path = tmp_path / "anchor.json"
    for text in ("", "[]", "{}", '{"format": "other"}'):
        path.write_text(text)
        with pytest.raises(CommandError, match="is no anchor") as why:
            call_command("verify", "--anchor", str(path))
        assert why.value.returncode == 2


def test_a_key_that_was_used_before_still_holds(ratings, settings):
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "k" * 60

    call_command("verify")


def test_missing_triggers_are_named(ratings):
    with lifted():
        gone = missing(connection)
        wrong = found()
    assert "rating_rating_no_change" in gone
    assert "rating_rating_mark_insert" in gone
    assert any("rating_rating_mark_insert" in one.what for one in wrong)


# What is no tampering


def test_what_the_product_changes_is_sealed_again(ratings):
    undo(ratings[2], now=timezone.now())
    person = User.objects.get(pk=ratings[0].rater_id)
    person.name, person.is_active = "Another Name", False
    person.save()
    person.groups.clear()

    assert found() == []
    assert Touch.objects.count() == 0


def test_a_card_put_off_until_later_and_given_again_is_no_finding(settings):
    settings.CARD_DISTANCE = 1
    make_wave(make_bank(bank_data(2)))
    rater = make_rater()
    card = leased(rater)
    skip(card, SkipReason.LATER, "", now=timezone.now())
    assert found() == []

    again = [rated(rater).assignment for _ in range(2)][1]

    assert again == card
    assert again.ordinal > card.ordinal
    assert found() == []


def test_a_row_that_waits_to_be_sealed_is_no_finding(ratings, monkeypatch):
    monkeypatch.setattr(checking, "seal_all", lambda: (0, 0))
    seal_events()
    rated(make_rater())

    assert found() == []


def test_a_column_that_came_later_leaves_earlier_seals_as_they_are(ratings, monkeypatch):
    """They were made without it; a row that is written again is sealed with it."""
    older = tuple(one for one in Sealed("rating_rating").fixed if one != "note")
    lots = []
    for seal in Seal.objects.order_by("number"):
        lots.append(sealing.lot_of(seal))
    assert "note" in lots[-1]["rating_rating"]["fixed"]

    with lifted():
        Seal.objects.all()._raw_delete("default")
        sealing.mark_all()
    monkeypatch.setattr(
        Sealed, "fixed", property(lambda one: older if one.table == "rating_rating" else FIXED(one))
    )
    sealing.seal_all()
    monkeypatch.undo()

    assert found() == []


FIXED = Sealed.fixed.fget


def test_what_was_there_before_seals_is_sealed_by_the_migration(ratings):
    from importlib import import_module
    from types import SimpleNamespace

    with lifted():
        Seal.objects.all()._raw_delete("default")
        Touch.objects.all().delete()
    assert named(found())

    with lifted():
        Seal.objects.all()._raw_delete("default")
    mark = import_module("rating.migrations.0025_mark_what_is_there").mark
    mark(None, SimpleNamespace(connection=connection))

    assert found() == []


def test_a_commitment_to_what_is_personal_cannot_be_guessed_once_its_salt_is_gone():
    from rating.integrity.digests import commitment

    assert commitment("a@example.org", "k1") != commitment("a@example.org", "k2")
    assert commitment("", "k1") == commitment("", "k2") == ""


# The command


def test_verify_says_how_much_it_looked_at_and_where_the_chains_end(ratings):
    said = io.StringIO()

    call_command("verify", "--json", stdout=said)

    told = json.loads(said.getvalue())
    assert told["well"] is True
    assert told["events"] == 3
    assert told["rows"] > 20
    assert told["head"]["seal"] == Seal.objects.latest("number").number
    assert told["head"]["event_seal"] == Event.objects.latest("pk").seal


def test_verify_names_the_row_and_says_what_to_do(ratings):
    with lifted():
        Rating.objects.filter(pk=ratings[0].pk).update(note="Another note.")

    with pytest.raises(CommandError) as why:
        call_command("verify")

    assert why.value.returncode == 1
    assert f"rating_rating {ratings[0].pk.hex}" in str(why.value)
    assert "Compare it with the last backup" in str(why.value)


def test_response_texts_are_held_to_their_seals(ratings):
    with lifted():
        Response.objects.filter(pk=ratings[0].response_id).update(text="Something kinder.")

    assert ("runs_response", str(ratings[0].response_id)) in named(found())


def test_a_role_that_was_given_past_the_page_is_found(ratings):
    maintainer = make_user(Role.MAINTAINER)
    assert found() == []
    other = Group.objects.exclude(name=Role.MAINTAINER).first()
    with lifted():
        maintainer.groups.through.objects.filter(user=maintainer).update(group=other)

    assert {table for table, _ in named(found())} == {"rating_user_groups"}


# A bundle


@pytest.fixture
def published(monkeypatch, tmp_path):
    """A published wave of few ratings, and its bundle as a file."""
    monkeypatch.setattr("rating.publishing.results.DRAWS", QUICK)
    wave = make_wave(make_bank(bank_data(2)))
    for rater in (make_rater(), make_rater()):
        for _ in range(2):
            rated(rater)
    unblind(wave)
    wave.refresh_from_db()
    made = acts.publish(wave, make_user(Role.MAINTAINER), "It is done.", now=timezone.now())
    path = tmp_path / "public.zip"
    path.write_bytes(bytes(made.bundle))
    return path


def test_a_bundle_is_held_to_its_hashes_its_figures_and_the_log_it_was_made_from(
    published, tmp_path, capsys
):
    call_command("verify", bundle=published)
    said = capsys.readouterr().out
    assert "every hash is right" in said
    assert "were computed again and are the same" in said
    assert "The log of this database goes through event" in said
    assert "It is the one that was published" in said

    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(published) as archive:
        archive.extractall(folder)
    call_command("verify", bundle=folder)
    assert "It is the one that was published" in capsys.readouterr().out

    (folder / "figures.csv").write_text("changed")
    with pytest.raises(CommandError, match="was changed"):
        call_command("verify", bundle=folder)


def test_a_bundle_tells_that_the_log_it_was_made_from_was_changed(published):
    reseal_everything()
    with pytest.raises(CommandError, match="is not the one it was made from"):
        call_command("verify", bundle=published)


def test_a_worker_with_much_to_seal_says_meanwhile_that_it_is_there(ratings, monkeypatch):
    sealing.mark_all()
    beats = []
    monkeypatch.setattr(sealing, "PAGE", 10)
    monkeypatch.setattr(tasks, "LOTS", 2)
    monkeypatch.setattr(tasks, "beat", lambda now: beats.append(Touch.objects.count()))

    tasks.look_after()

    assert len(beats) >= 3
    assert beats == sorted(beats, reverse=True)
    assert beats[0] - beats[1] == 20
    assert not Touch.objects.exists()
    assert found() == []


# Whoever takes the guards away, and leaves the marks


@contextmanager
def guards_away() -> Iterator[None]:
    """As somebody who owns the database can have it; what is written is marked all the same."""
    with connection.cursor() as cursor:
        for guard in all_guards():
            on = f" ON {guard.table}" if connection.vendor == "postgresql" else ""
            cursor.execute(f"DROP TRIGGER IF EXISTS {guard.name}{on}")
    yield
    for name in GUARDED:
        install(apps.get_app_config(name))


@pytest.fixture
def three():
    make_wave(make_bank(bank_data(3)))
    rater = make_rater()
    given = [rated(rater, level) for level in (1, 2, 3)]
    assert found() == []
    return given


def highest(rating: Rating) -> Anchor:
    return rating.response.item.anchors.get(level=5)


def test_a_rating_that_is_deleted_sealed_so_and_put_back_with_another_level_is_found(three):
    rating, quotes = three[0], list(Quote.objects.filter(rating=three[0]))
    with guards_away():
        Quote.objects.filter(rating=rating)._raw_delete("default")
        Rating.objects.filter(pk=rating.pk)._raw_delete("default")
    sealing.seal_all()
    with guards_away():
        rating.anchor = highest(rating)
        for quote in quotes:
            quote.save(force_insert=True)
        rating.save(force_insert=True)

    assert ("rating_rating", key_text(str(rating.pk))) in named(found())


def test_a_row_is_still_held_to_what_was_sealed_before_a_column_came(three, monkeypatch):
    true = Sealed.fixed.fget
    with lifted():
        Seal.objects.all()._raw_delete("default")
        sealing.mark_all()
    with monkeypatch.context() as earlier:
        earlier.setattr(
            Sealed,
            "fixed",
            property(lambda one: [name for name in true(one) if name != "harm_line"]),
        )
        assert found() == []
    assert found() == []
    sealing.mark_all("rating_rating")
    assert found() == [], "sealed anew with the column, it is the same row"

    with guards_away():
        Rating.objects.filter(pk=three[0].pk).update(anchor=highest(three[0]))

    assert ("rating_rating", key_text(str(three[0].pk))) in named(found())


def test_a_change_between_two_sets_of_columns_is_found(three, monkeypatch):
    true = Sealed.fixed.fget
    with lifted():
        Seal.objects.all()._raw_delete("default")
        sealing.mark_all()
    with monkeypatch.context() as earlier:
        earlier.setattr(
            Sealed,
            "fixed",
            property(lambda one: [name for name in true(one) if name != "harm_line"]),
        )
        assert found() == []

    with guards_away():
        Rating.objects.filter(pk=three[0].pk).update(anchor=highest(three[0]))

    assert named(found()) == {("rating_rating", key_text(str(three[0].pk)))}


def test_a_mark_below_nought_hides_nothing(three):
    person = three[0].rater
    with lifted():
        User.objects.filter(pk=person.pk).update(is_superuser=True)
    Touch.objects.create(pk=-7, table="rating_user", key=str(person.pk))

    assert found() == []
    assert not Touch.objects.exists(), "it is sealed as it stands, and is held to that from now on"


def test_a_trigger_that_is_switched_off_or_does_nothing_does_not_stand(three):
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TRIGGER rating_rating_no_change")
            cursor.execute(
                "CREATE TRIGGER rating_rating_no_change BEFORE UPDATE ON rating_rating"
                " FOR EACH ROW WHEN 0 BEGIN SELECT 1; END"
            )
        else:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("ALTER TABLE rating_rating DISABLE TRIGGER rating_rating_no_change")

    assert missing(connection) == ["rating_rating_no_change"]


def test_a_slot_that_is_gone_or_closed_before_its_time_is_found(three):
    slot = Slot.objects.filter(state="open").first()
    with transaction.atomic():
        Slot.objects.filter(pk=slot.pk).update(state="closed")
        assert any("is closed, though" in str(one) for one in found())
        transaction.set_rollback(True)
    Slot.objects.filter(pk=slot.pk).delete()

    assert any("has 1 slots, and not two" in str(one) for one in found())
