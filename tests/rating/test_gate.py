"""The gate: walked to official on an invented wave, and one condition at a time removed."""

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

from rating.gate import Facts, SubjectFacts, findings_only, gate

DAY = datetime(2026, 3, 1, 9, tzinfo=UTC)
SUBJECT = SubjectFacts("maple", True, "public API", 2, 249, False, True)
ALL_MET = Facts(
    kind="official",
    subjects=(SUBJECT, dataclasses.replace(SUBJECT, name="birch")),
    raters_no_longer_blind=(),
    preregistered_at=DAY,
    first_response_at=DAY + timedelta(hours=1),
    exclusion_rule="A rater below the floor on agreed responses is replaced before unblinding.",
    pool="unpublished",
    items_served=83,
    items_validated=83,
    responses=494,
    responses_rated_twice=494,
    never_came=0,
    ratings_excluded=0,
    judges_of_subjects_family=(),
    agreement=0.71,
    agreement_floor=0.67,
    raters=9,
    raters_unqualified=(),
    harm_flags=3,
    harm_flags_undecided=0,
    ratings_frozen_at=DAY + timedelta(days=20),
    unblinded_at=DAY + timedelta(days=21),
    unblinded_by=2,
    confounds_open=(),
)
NOTHING = Facts(
    kind="local",
    subjects=(),
    raters_no_longer_blind=("R-01",),
    preregistered_at=None,
    first_response_at=None,
    exclusion_rule="",
    pool="published",
    items_served=0,
    items_validated=0,
    responses=0,
    responses_rated_twice=0,
    never_came=0,
    ratings_excluded=0,
    judges_of_subjects_family=(),
    agreement=None,
    agreement_floor=None,
    raters=0,
    raters_unqualified=(),
    harm_flags=0,
    harm_flags_undecided=0,
    ratings_frozen_at=None,
    unblinded_at=None,
    unblinded_by=0,
    confounds_open=("length", "drift"),
)


def with_subject(**changes):
    return {"subjects": (SUBJECT, dataclasses.replace(SUBJECT, name="birch", **changes))}


#: What is taken away, and what is then said to be missing.
TAKEN = [
    (with_subject(frozen=False), "An exact snapshot or digest of birch."),
    (with_subject(access_tier=""), "The access tier of birch."),
    (
        {"raters_no_longer_blind": ("R-07",)},
        "Ratings by others than 1 rater who knew the subjects.",
    ),
    ({"kind": "pilot"}, "A plan that declares the wave official: no other is promoted."),
    ({"preregistered_at": None}, "A locked pre-registration."),
    (
        {"preregistered_at": DAY + timedelta(hours=2)},
        "A pre-registration locked before the first response.",
    ),
    ({"exclusion_rule": ""}, "The rule by which ratings would be excluded."),
    ({"pool": "published"}, "Unpublished items: published ones carry their answer key."),
    ({"items_validated": 82}, "Two reviews that find 1 served item valid."),
    ({"responses_rated_twice": 490}, "Two ratings of 4 responses."),
    ({"never_came": 12}, "12 planned replies that never came."),
    ({"ratings_excluded": 1}, "A wave whose ratings were not excluded after the fact."),
    (
        {"judges_of_subjects_family": ("oak-judge",)},
        "Judges of other families than the subjects': not oak-judge.",
    ),
    (
        {"agreement": 0.669},
        "Agreement at the floor: below it the wave states findings on the instrument only.",
    ),
    ({"agreement": None}, "Agreement of the ratings."),
    ({"agreement_floor": None}, "A floor declared in the pre-registration."),
    (with_subject(probes_complete=False), "Both probes of birch."),
    (with_subject(too_many_lost=True), "Fewer lost replies of birch."),
    ({"raters_unqualified": ("R-07",)}, "A qualification of 1 rater."),
    ({"harm_flags_undecided": 1}, "A decision on 1 flag."),
    ({"ratings_frozen_at": None}, "Frozen ratings."),
    ({"unblinded_at": None}, "An unblinding."),
    ({"unblinded_at": DAY}, "An unblinding after the ratings were frozen."),
    ({"unblinded_by": 1}, "Two people who agreed to unblind."),
    ({"confounds_open": ("length",)}, "A finding or a disclosure on length."),
]


def test_a_wave_that_meets_every_condition_is_official():
    found = gate(ALL_MET)

    assert found.official
    assert found.comparability == "within-bank"
    assert found.missing == ()
    assert found.sentence == "This is an official result: every condition is met."


@pytest.mark.parametrize(("change", "missing"), TAKEN, ids=[missing for _, missing in TAKEN])
def test_without_any_one_condition_a_wave_is_not_official_and_says_what_is_missing(change, missing):
    found = gate(dataclasses.replace(ALL_MET, **change))

    assert not found.official
    assert found.comparability == "none"
    (condition,) = found.missing
    assert condition.missing == (missing,)
    assert found.sentence.endswith("1 of 12 conditions is not met.")


def test_every_condition_can_be_the_one_that_is_missing():
    names = {
        condition.name
        for change, _ in TAKEN
        for condition in gate(dataclasses.replace(ALL_MET, **change)).missing
    }

    assert names == {condition.name for condition in gate(ALL_MET).conditions}


def test_a_wave_walks_to_official_one_fact_after_another():
    facts, missing = NOTHING, []
    for field in dataclasses.fields(Facts):
        missing.append(len(gate(facts).missing))
        assert not gate(facts).official
        facts = dataclasses.replace(facts, **{field.name: getattr(ALL_MET, field.name)})

    assert gate(facts).official
    assert missing[0] == 10  # no flag is undecided and no subject lost replies where there are none


def test_official_can_be_set_by_nobody():
    with pytest.raises(AttributeError):
        gate(NOTHING).official = True
    with pytest.raises(dataclasses.FrozenInstanceError):
        gate(NOTHING).conditions = ()
    assert "official" not in {field.name for field in dataclasses.fields(Facts)}


def test_every_condition_shows_its_evidence():
    evidence = {condition.name: condition.evidence for condition in gate(ALL_MET).conditions}

    assert evidence["Every served item validated by two people"] == (
        "83 of 83 served items validated."
    )
    assert evidence["Ratings frozen before a logged unblinding by two people"] == (
        "Frozen 2026-03-21 09:00, unblinded 2026-03-22 09:00 by 2."
    )
    assert all(condition.evidence for condition in gate(NOTHING).conditions)


def test_below_the_floor_a_wave_states_findings_on_the_instrument_only():
    assert not findings_only(ALL_MET)
    assert findings_only(dataclasses.replace(ALL_MET, agreement=0.5))
    assert findings_only(NOTHING)
