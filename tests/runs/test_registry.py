"""What pins a subject, and that it is registered once, whole, and for good."""

import pytest
from django.db import IntegrityError, transaction

from runs.models import Subject, SubjectLimit
from runs.plan_file import PlanFileRefused, parse_subject
from runs.registry import evidence_faults, pinned_by
from runs.subjects import (
    SubjectRefused,
    found_or_new,
    identity_of,
    lineage_of,
    register,
    set_limits,
)
from tests.runs.factories import SubjectFactory

STATED = {
    "developer": "Lab",
    "family": "Kind",
    "snapshot": "kind-2026-01-01",
    "provider": "openai",
    "access_tier": "paid",
    "quantisation": "none stated",
}
FILE = """
developer = "Lab"
family = "Kind"
snapshot = "kind-2026-01-01"
aliases = ["kind-latest"]
provider = "openai"
base_url = "https://api.example.org/v1"
product_surface = "api_default"
access_tier = "paid"
region = "eu"
system_prompt_status = "none"
moderation_layer = "unknown"
quantisation = "none stated"
first_seen_date = "2026-01-02"
tools = []
sampling = { temperature = 1.0, max_tokens = 800, context_limit = 128000 }
limits = { in_flight = 8, requests_a_minute = 60 }

[[evidence]]
source_url = "https://example.org/models"
publisher = "Lab"
published_at = "2026-01-01"
retrieved_at = "2026-01-02"
archive_or_hash = "sha256:abc"
"""


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("gpt-4o-2024-08-06", "date"),
        ("gpt-4-0613", "date"),
        ("gpt-4-0125-preview", "date"),
        ("claude-3-5-sonnet-20241022", "date"),
        ("mistral-large-2407", "date"),
        ("command-r-08-2024", "date"),
        ("kind-2026-01", "date"),
        ("gemini-1.5-pro-001", "build"),
        ("gpt-4o", ""),
        ("gpt-4-turbo-preview", ""),
        ("chatgpt-4o-latest", ""),
        ("kind-latest-2026-01-01", ""),
        ("kind-stable-0613", ""),
        ("claude-3-opus", ""),
        ("gemini-2.5-pro", ""),
        ("gpt-4o-2024-13-06", ""),
        ("llama3:8b", ""),
        ("llama-3.1-405b", ""),
        ("yi-34b-200k", ""),
        ("model-9999", ""),
        ("o1", ""),
    ],
)
def test_a_name_is_pinned_by_a_date_or_a_build_and_by_nothing_else(name, by):
    assert pinned_by(name) == by


def test_a_digest_pins_any_name_and_a_script_its_subject():
    assert pinned_by("llama3:8b", digest="a" * 64) == "digest"
    assert pinned_by("anything-latest", digest="a" * 64) == "digest"
    assert pinned_by("anything", provider="demo") == "script"


@pytest.mark.django_db
def test_a_moving_alias_is_refused_with_the_way_on():
    with pytest.raises(
        SubjectRefused, match=r"'gpt-4o' is an alias that moves.*Name a dated snapshot"
    ):
        register(STATED | {"snapshot": "gpt-4o"})

    assert register(STATED | {"snapshot": "gpt-4o", "digest": "rev-1"}).pinned_by == "digest"


@pytest.mark.django_db
@pytest.mark.parametrize("left_out", ["access_tier", "quantisation"])
def test_tier_and_quantisation_are_stated(left_out):
    for value in ("", "  "):
        with pytest.raises(SubjectRefused, match=f"{left_out}: missing.*none stated"):
            register(STATED | {left_out: value})
    with pytest.raises(SubjectRefused, match=left_out):
        register({key: value for key, value in STATED.items() if key != left_out})


@pytest.mark.django_db
@pytest.mark.parametrize(
    "wrong",
    [
        {"pinned_by": ""},
        {"pinned_by": "hope"},
        {"pinned_by": "digest", "digest": ""},
        {"access_tier": ""},
        {"quantisation": ""},
        {"runtime": "other"},
        {"product_surface": "other"},
        {"system_prompt_status": "other"},
        {"moderation_layer": "other"},
    ],
    ids=str,
)
def test_the_database_itself_refuses_what_is_no_subject(wrong):
    subject = SubjectFactory.build(snapshot="x-2026-01-01")
    subject.settle_identity()
    for name, value in wrong.items():
        setattr(subject, name, value)

    with pytest.raises(IntegrityError), transaction.atomic():
        Subject.objects.bulk_create([subject])


@pytest.mark.django_db
def test_a_file_is_registered_whole():
    file = parse_subject(FILE.encode())

    subject = register(file.stated)
    set_limits(subject, file.limits)

    told = identity_of(Subject.objects.get())
    assert told["code"] == "lab--kind--kind-2026-01-01"
    assert {key: told[key] for key in file.stated} == file.stated
    assert (subject.limit.in_flight, subject.limit.requests_a_minute) == (8, 60)


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ('region = "eu"', "region = 1", "region: 1 is not a text"),
        ('"api_default"', '"web"', "product_surface: 'web' is not one of: consumer, api_default"),
        ('"none"\n', '"maybe"\n', "system_prompt_status: 'maybe' is not one of"),
        ('aliases = ["kind-latest"]', "aliases = [1]", "aliases: [1] is not a list of texts"),
        ('"2026-01-02"\ntools', '"soon"\ntools', "first_seen_date: 'soon' is not a day"),
        ("in_flight = 8", "in_flight = 0", "limits: in_flight: 0 is not a whole number"),
        ("in_flight = 8", "idle_seconds = 0", "limits: idle_seconds: 0 is not a number above 0"),
        ("in_flight = 8", "speed = 1", "limits: there is no key 'speed'"),
        ('publisher = "Lab"', "", "evidence 1: publisher: None is not a text"),
        ('retrieved_at = "2026-01-02"', 'retrieved_at = "x"', "retrieved_at: 'x' is not a day"),
        ('provider = "openai"', 'provider = "openai"\nruntime = "x"', "runtime: 'x' is not one of"),
        ('provider = "openai"', 'provider = "demo"\nruntime = "vllm"', "runtime: only a subject"),
        ('provider = "openai"', 'provider = "openai"\nseed = 1', "there is no key 'seed'"),
    ],
)
def test_every_fault_of_a_file_is_said_by_name(written, instead, said):
    assert written in FILE

    with pytest.raises(PlanFileRefused) as refused:
        parse_subject(FILE.replace(written, instead, 1).encode())

    assert said in str(refused.value)


def test_anthropic_must_be_told_how_much_it_may_say():
    file = FILE.replace('"openai"', '"anthropic"').replace("max_tokens = 800, ", "")

    with pytest.raises(PlanFileRefused, match="max_tokens: missing"):
        parse_subject(file.encode())


def test_an_inference_alone_is_no_evidence():
    row = {
        "source_url": "https://example.org",
        "publisher": "Lab",
        "published_at": "2026-01-01",
        "retrieved_at": "2026-01-02",
        "archive_or_hash": "x",
    }

    assert list(evidence_faults([row])) == []
    assert "an inference alone" in str(list(evidence_faults([row | {"claim_class": "inference"}])))


@pytest.mark.django_db
def test_what_a_plan_states_must_agree_and_what_it_leaves_out_need_not_be_said_again():
    subject = register(STATED | {"region": "eu"})
    short = {key: STATED[key] for key in ("developer", "family", "snapshot", "provider")}

    assert found_or_new(short) == subject
    with pytest.raises(SubjectRefused, match="registered with region 'eu' and not 'us'"):
        found_or_new(short | {"region": "us"})


@pytest.mark.django_db
def test_changed_behaviour_is_a_new_subject_with_a_predecessor():
    first = register(STATED)
    newer = STATED | {"snapshot": "kind-2026-06-01"}

    with pytest.raises(SubjectRefused, match="change: missing"):
        register(newer, predecessor=first)
    second = register(newer, predecessor=first, change="Answers shorter.")

    assert lineage_of(second) == [first, second]
    assert list(first.successors.all()) == [second]


@pytest.mark.django_db
def test_a_subject_is_registered_once():
    register(STATED)

    with pytest.raises(SubjectRefused, match="is registered already"):
        register(STATED)


@pytest.mark.django_db
def test_limits_are_no_part_of_the_identity_and_may_change():
    subject = register(STATED)

    set_limits(subject, {"requests_a_minute": 60})
    set_limits(subject, {"in_flight": 4, "requests_a_minute": None})

    limit = SubjectLimit.objects.get()
    assert (limit.in_flight, limit.requests_a_minute) == (4, None)
