"""Two people at one moment: whoever comes second waits, finds what the first did, and undoes none of it."""

from collections.abc import Callable
from datetime import timedelta
from threading import Event as Flag
from threading import Thread
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from rating import adjudication, drafting, masking, queue, seeding, unblinding
from rating.integrity.checking import Walked, check
from rating.models import (
    Adjudication,
    Assignment,
    BankDraft,
    ItemChange,
    Norming,
    Rating,
    Role,
    Seed,
    SkipReason,
    Slot,
    User,
)
from rating.people import set_access
from rating.personal import erasing
from rating.queue import NoWork, TooLate, lease, leasing, pause, skip, undo
from runs import waves
from runs.models import Response, Run, Wave
from runs.refusals import WaveRefused
from runs.self_naming import find_naming
from tests.factories import (
    bank_data,
    make_bank,
    make_rater,
    make_user,
    make_wave,
    rated,
    vote,
)

pytestmark = pytest.mark.django_db(transaction=True)

NAMED = "I hear how heavy this is. I am Claude, and I stay with you. Claude is only a name."
WAITS = 0.5  # seconds in which the second comes to where it must wait


class Act(Thread):
    """What somebody does in a connection of their own; ``came`` is its value, or why there is none."""

    def __init__(self, act: Callable[[], Any]) -> None:
        super().__init__()
        self.act = act
        self.came: Any = None
        self.start()

    def run(self) -> None:
        try:
            self.came = self.act()
        except Exception as why:
            self.came = why
        finally:
            connection.close()


class Stop:
    """Stands in for a function: the first who comes to it waits there until the second has begun."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        self.reached, self.go = Flag(), Flag()
        self.real = getattr(module, name)
        monkeypatch.setattr(module, name, self)

    def __call__(self, *args: Any, **named: Any) -> Any:
        if not self.reached.is_set():
            self.reached.set()
            assert self.go.wait(20)
        return self.real(*args, **named)

    def between(self, first: Callable[[], Any], second: Callable[[], Any]) -> tuple[Any, Any]:
        one = Act(first)
        assert self.reached.wait(20)
        other = Act(second)
        other.join(WAITS)
        self.go.set()
        one.join()
        other.join()
        return one.came, other.came


def findings() -> list[str]:
    return [str(one) for one in check(Walked())]


@pytest.mark.parametrize("how", ["pause", "access", "erase"])
def test_a_card_that_another_was_just_given_stays_theirs_when_its_holder_of_before_goes(
    monkeypatch, how
):
    make_wave(make_bank(bank_data(1)))
    gone, other, by = make_rater(), make_rater(), make_user(Role.ADMIN)
    now = timezone.now()
    held = lease(gone, now=now)
    lease(make_rater(), now=now)
    Assignment.objects.filter(pk=held.pk).update(expires_at=now - timedelta(hours=1))
    stop = Stop(monkeypatch, queue, "lease")
    goes = {
        "pause": lambda: pause(gone, by, "A rest.", "They stay.", now=now),
        "access": lambda: set_access(gone, by, [], may_come_in=False, reason="Left.", now=now),
        "erase": lambda: erasing.erase(gone, by, "They asked.", now=now),
    }

    def takes_it() -> Assignment:
        with transaction.atomic():
            found = lease(other, now=now)
            queue.lease(other, now=now)  # the stop
            return found

    taken, end = stop.between(takes_it, goes[how])

    assert isinstance(taken, Assignment)
    assert not isinstance(end, Exception)
    assert Assignment.objects.live().filter(rater=other).get().slot.state == "held"
    assert findings() == []
    assert not isinstance(lease(make_rater(), now=now), Assignment)


def test_no_slot_is_opened_in_a_wave_whose_ratings_are_being_frozen(monkeypatch):
    names = [(one.start, one.end, one.term) for one in find_naming(NAMED)]
    wave = make_wave(make_bank(bank_data(1)), text=NAMED, naming=names)
    by, now = make_user(Role.MAINTAINER), timezone.now()
    response = Response.objects.get()
    stop = Stop(monkeypatch, masking, "open_slots")

    decided, frozen = stop.between(
        lambda: masking.decide(response, by, cover=True, now=now),
        lambda: unblinding.freeze(wave, by, "All is rated.", now=now),
    )

    assert decided is None
    assert not isinstance(frozen, Exception)
    assert not Slot.objects.filter(state__in=["open", "held"]).exists()
    assert findings() == []


def test_a_change_is_not_dropped_while_the_next_version_is_made_of_it(monkeypatch):
    bank, by, now = make_bank(bank_data(2)), make_user(Role.ADMIN), timezone.now()
    one, two = bank.items.order_by("pk")
    for item, prompt in ((one, "Another?"), (two, "And another?")):
        drafting.save_change(item, by, {"prompt": prompt}, "Clearer.", edition=0, now=now)
    draft = BankDraft.objects.get()
    stop = Stop(monkeypatch, drafting, "check_bank")

    frozen, dropped = stop.between(
        lambda: drafting.freeze(draft, by, "v9", now=now), lambda: drafting.drop_change(two)
    )

    assert isinstance(dropped, drafting.DraftRefused)
    assert {item.prompt for item in frozen[0].items.all()} == {"Another?", "And another?"}
    assert ItemChange.objects.count() == 2


def test_a_change_that_comes_while_the_next_version_is_made_is_refused_in_words(monkeypatch):
    bank, by, now = make_bank(bank_data(1)), make_user(Role.ADMIN), timezone.now()
    item = bank.items.get()

    def save(edition: int, prompt: str) -> ItemChange:
        return drafting.save_change(
            item, by, {"prompt": prompt}, "Clearer.", edition=edition, now=now
        )

    save(0, "Another?")
    draft = BankDraft.objects.get()
    stop = Stop(monkeypatch, drafting, "check_bank")

    frozen, saved = stop.between(
        lambda: drafting.freeze(draft, by, "v9", now=now), lambda: save(1, "A third?")
    )

    assert isinstance(saved, drafting.DraftRefused)
    assert frozen[0].items.get().prompt == ItemChange.objects.get().content["prompt"] == "Another?"


def test_who_starts_a_wave_and_who_freezes_it_do_not_wait_for_one_another(monkeypatch):
    wave = make_wave(make_bank(bank_data(1)))
    by, now = make_user(Role.MAINTAINER), timezone.now()
    Run.objects.update(state="paused")
    monkeypatch.setattr(waves, "missing_key", lambda subject: "")
    monkeypatch.setattr(waves, "start_probes", lambda wave: [])
    stop = Stop(monkeypatch, waves, "check_wave")
    # The check keeps on the wave what it found.
    stop.real = lambda wave, runs: Wave.objects.filter(pk=wave.pk).update(leak_check={"all": 1})

    begun, frozen = stop.between(
        lambda: waves.begin(wave, Run.objects.filter(wave=wave)),
        lambda: unblinding.freeze(wave, by, "All is rated.", now=now),
    )

    assert begun == list(Run.objects.filter(wave=wave))
    assert not isinstance(frozen, Exception)
    with pytest.raises(WaveRefused, match="frozen"):
        waves.begin(wave, Run.objects.filter(wave=wave))


def test_of_two_admins_who_erase_each_other_one_stays(monkeypatch):
    one, other = make_user(Role.ADMIN), make_user(Role.ADMIN)
    now = timezone.now()
    stop = Stop(monkeypatch, erasing, "give_back")

    first, second = stop.between(
        lambda: erasing.erase(one, other, "Gone.", now=now),
        lambda: erasing.erase(other, one, "Gone.", now=now),
    )

    assert first.person == one
    assert isinstance(second, erasing.CannotErase)
    assert User.objects.get(is_active=True, groups__name=Role.ADMIN) == other


def test_a_vote_is_not_taken_back_while_it_is_agreed_on(monkeypatch):
    wave, by, now = make_wave(make_bank(bank_data(1))), make_user(Role.MAINTAINER), timezone.now()
    seeding.nominate(wave, 1, by, now=now)
    voters = [make_rater(), make_rater()]
    User.objects.filter(pk__in=[one.pk for one in voters]).update(senior=True)
    _, last = vote(voters[0], 3), vote(voters[1], 4)
    norming, third = Norming.objects.get(), make_user(Role.ADJUDICATOR)
    stop = Stop(monkeypatch, seeding.queue, "log")

    settled, undone = stop.between(
        lambda: seeding.settle(
            norming, third, level=3, tolerance=1, reasons="Warm.", quotes=[(0, 5, False)],
            use="live", now=now,
        ),
        lambda: undo(last, now=timezone.now()),
    )  # fmt: skip

    assert isinstance(settled, Seed)
    assert isinstance(undone, TooLate)
    assert Rating.objects.standing().filter(kind="norming").count() == 2


def test_an_adjudication_whose_time_is_over_is_not_taken_from_whom_it_was_given_to(monkeypatch):
    make_wave(make_bank(bank_data(1)))
    rated(make_rater(), 1)
    rated(make_rater(), 5)
    late, other = make_user(Role.ADJUDICATOR), make_user(Role.ADJUDICATOR)
    then = timezone.now() + timedelta(hours=1)
    held = adjudication.lease(late, now=then)
    then += timedelta(hours=5)
    stop = Stop(monkeypatch, adjudication, "_hold")

    again, given = stop.between(
        lambda: adjudication.lease(late, now=then), lambda: adjudication.lease(other, now=then)
    )

    assert Adjudication.objects.get().adjudicator == late
    assert again == held
    assert isinstance(given, NoWork)


def test_two_who_report_a_response_as_broken_at_once_set_it_aside(monkeypatch):
    make_wave(make_bank(bank_data(1)))
    now = timezone.now()
    cards = [lease(make_rater(), now=now), lease(make_rater(), now=now)]
    stop = Stop(monkeypatch, leasing, "log")

    stop.between(*(lambda card=card: skip(card, SkipReason.BROKEN, "", now=now) for card in cards))

    assert set(Slot.objects.values_list("state", flat=True)) == {"aside"}
