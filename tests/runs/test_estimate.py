"""What a plan would take and could show, before anything is started."""

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from rating.models import Rating
from runs.declared import Costs, Price
from runs.estimate import estimate, estimate_of
from runs.estimate_text import facts
from runs.models import Wave
from runs.probes import begin_probes
from runs.tokens import count_tokens, tokens_sent
from tests.factories import bank_data, make_bank, make_rater, make_wave, pair_bank_data, rated
from tests.runs.factories import BankFactory, RunFactory
from tests.runs.test_declared import DECLARED
from tests.runs.test_plan_file import PLAN

SUBJECT = {
    "snapshot": "kind-1",
    "provider": "openai",
    "sampling": {"max_tokens": 250},
    "conditions": [{"name": "default", "system_message": ""}],
}


def of(**changes):
    options = {
        "subjects": [SUBJECT],
        "conversations": [((), "a" * 400), ((), "b" * 400)],
        "trials": 3,
        "places": {"AWR": 10},
        "costs": Costs("EUR", 10.0, None, {"kind-1": Price(1.0, 4.0)}),
        "of_pairs": False,
        "margin": 0.5,
        **changes,
    }
    return estimate(**options)


def test_tokens_are_counted_by_the_stated_rule():
    assert count_tokens("") == 0
    assert count_tokens("abcde") == 2  # four letters a token, and one begun
    assert count_tokens("naïve") == 2
    assert count_tokens("思いやり") == 4
    assert tokens_sent([{"role": "user", "content": "abcd"}]) == 5  # and four around each message


def test_calls_tokens_and_cost_follow_from_the_plan():
    told = of()

    assert told.calls == 2 * 3
    assert told.tokens_in == 6 * (100 + 4)
    assert told.tokens_out == 6 * 250  # no reply is longer than the subject may be
    assert told.cost == pytest.approx((624 * 1.0 + 1500 * 4.0) / 1e6)


def test_probes_are_put_to_each_subject_once_and_counted_with_the_rest():
    warm = {"name": "warm", "system_message": "Be warm."}
    subject = SUBJECT | {"conditions": [*SUBJECT["conditions"], warm]}
    asked = {"questions": ["c" * 40], "repeated": [((), "d" * 400)] * 2}

    told = of(subjects=[subject], **asked)

    (probes,) = told.probes
    assert (probes.calls, probes.again) == (3, 2)
    assert probes.tokens_in == 14 + 2 * 104  # under the first condition, which sends no more
    assert told.tokens_out == (12 + 3) * 250
    assert told.cost == pytest.approx(of(subjects=[subject]).cost + (222 + 4 * 3 * 250) / 1e6)
    assert dict(facts(told))["Probes"].startswith(
        "3 calls × 1 subject = 3 more; and at most 2 again"
    )


def test_a_subject_whose_replies_are_imported_has_no_probes():
    told = of(subjects=[SUBJECT | {"provider": "import"}], questions=["What?"])
    assert told.probes == ()
    assert "Probes" not in dict(facts(told))


@pytest.mark.django_db
def test_as_many_probes_are_estimated_as_are_put():
    bank = make_bank(bank_data(8))
    plan = {"trials": 3, "subjects": [SUBJECT], "seed": "1", "code": "one"}
    run = RunFactory(wave__bank=bank, wave__seed="1", wave__code="one")

    begin_probes(run.wave)

    (probes,) = estimate_of(plan, bank).probes
    assert probes.calls == run.probes.count()
    assert probes.again == 2 * run.probes.exclude(kind="determinism").count()


def test_what_is_not_called_costs_nothing():
    told = of(subjects=[SUBJECT | {"provider": "demo"}], costs=Costs())
    assert (told.tokens_in, told.cost) == (0, 0)


def test_without_a_price_the_cost_is_not_told_as_nothing():
    told = of(costs=Costs())
    assert told.cost is None
    assert told.unpriced == ["kind-1"]


def test_each_response_is_two_ratings_of_three_minutes_until_cards_have_been_timed():
    assert of(timed=(99, 60.0)).hours == pytest.approx(12 * 3 / 60)
    assert of(timed=(100, 60.0)).hours == pytest.approx(12 / 60)


def test_the_expected_width_is_that_of_a_t_interval_of_item_means():
    # deviation of an item mean: sqrt(0.8^2 + (0.5^2 + 0.6^2 / 2) / 3) = 0.885061
    # times t(.975, 9) = 2.262157, over sqrt(10)
    (place,) = of().places
    assert place.half_width == pytest.approx(0.633135, abs=1e-5)
    assert place.power is None


def test_of_one_item_no_width_can_be_told():
    assert of(places={"AWR": 1}).places[0].half_width is None


@pytest.mark.django_db
def test_a_bank_of_pairs_is_estimated_by_chamber_with_its_power():
    bank = make_bank(pair_bank_data(10))
    plan = {"trials": 5, "subjects": [SUBJECT]}

    told = estimate_of(plan, bank)

    (chamber,) = told.places
    assert (chamber.name, chamber.n) == ("1 Moral Status", 10)
    assert chamber.power == pytest.approx(0.87, abs=0.005)
    assert dict(told.power)[10][2] == chamber.power


def test_parity_overall_needs_every_chamber_at_once():
    told = of(places={"1": 10, "2": 10}, of_pairs=True, trials=5)

    assert told.power_of_all == pytest.approx(0.87**2, abs=0.01)
    assert dict(facts(told))["Parity overall"].startswith("shown in 76% where no chamber has a gap")


@pytest.mark.django_db
def test_minutes_come_from_the_cards_of_that_instrument(monkeypatch):
    monkeypatch.setattr("runs.estimate.CARDS_TO_MEASURE", 2)
    bank = make_bank(bank_data(2))
    make_wave(bank)
    rater = make_rater()
    for _ in range(2):
        rated(rater, active_seconds=90)
    assert Rating.objects.count() == 2

    told = estimate_of({"trials": 3, "subjects": [SUBJECT]}, bank)
    other = estimate_of({"trials": 3, "subjects": [SUBJECT]}, make_bank(pair_bank_data(2)))

    assert (told.minutes_a_card, told.measured) == (1.5, True)
    assert (other.minutes_a_card, other.measured) == (3.0, False)


@pytest.fixture
def file(tmp_path, db):
    BankFactory(name="Model Index demo", version="demo-1", items=9)
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN + DECLARED)
    return plan


def test_the_command_tells_it_of_a_file_without_storing_anything(file, capsys):
    call_command("run", "estimate", str(file))

    said = capsys.readouterr().out
    assert "Calls: 9 items × 3 trials × 2 runs = 54" in said
    assert "kind-2026-01-01/warm: 27 calls, 0." in said
    assert "Ceiling: 20.00 EUR" in said
    assert "108 ratings, 2 of each response: 5 hours at 3.0 minutes a card, assumed" in said
    assert "AWR: ± 0.68 (9 items)" in said
    assert "standard deviations in levels: 0.8 between the items" in said
    assert not Wave.objects.exists()


def test_the_command_tells_it_of_a_draft(file, capsys):
    call_command("run", "plan", str(file))
    call_command("run", "estimate", "demo")
    assert "2 runs = 54" in capsys.readouterr().out


@pytest.mark.django_db
def test_a_wave_without_its_plan_says_so():
    wave = make_wave()
    with pytest.raises(CommandError, match="before plans were kept whole"):
        call_command("run", "estimate", wave.code)


def test_a_power_table_is_told_of_a_bank_of_pairs(tmp_path, db, capsys):
    bank = make_bank(pair_bank_data(10))
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.replace("Model Index demo demo-1", str(bank)))

    call_command("run", "estimate", str(plan))

    said = capsys.readouterr().out
    assert "margin 0.5 level, where its true gap is 0" in said
    assert [line.split() for line in said.splitlines() if line.strip().startswith("10 ")] == [
        ["10", "9%", "64%", "87%", "99%"]
    ]
