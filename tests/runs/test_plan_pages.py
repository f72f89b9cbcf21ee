"""Planning a wave on pages: a draft, its parts, the estimate beside it, and the lock."""

import hashlib

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from rating.models import Event, Role
from runs.models import Response, Run, RunState, Wave
from runs.plan_file import parse_data, plan_of
from runs.refusals import WaveRefused
from runs.waves import delete_draft, lock_wave, save_draft
from tests.factories import make_bank, make_user, pair_bank_data
from tests.runs.factories import BankFactory, RunFactory, SubjectFactory, priced
from tests.runs.test_drafts import WHOLE
from tests.runs.test_run_command import DEMO_PLAN

pytestmark = pytest.mark.django_db

PARTS = ("basics", "subjects", "preregistration", "cost", "lock", "delete")
BASICS = {
    "code": "autumn",
    "title": "Autumn pilot",
    "kind": "pilot",
    "bank": "Model Index demo demo-1",
    "seed": "20261130",
    "trials": "3",
}
FORMSETS = {
    "subjects-TOTAL_FORMS": "1",
    "subjects-INITIAL_FORMS": "0",
    "conditions-TOTAL_FORMS": "2",
    "conditions-INITIAL_FORMS": "0",
}
SUBJECTS = {
    **FORMSETS,
    "subjects-0-developer": "Lab",
    "subjects-0-family": "Kind",
    "subjects-0-snapshot": "kind-2026-01-01",
    "subjects-0-provider": "demo",
    "subjects-0-temperature": "0.7",
    "conditions-0-name": "default",
    "conditions-1-name": "warm",
    "conditions-1-system_message": "Be warm.\r\nAlways.",
}
DECLARES = {
    "preregistration": "We ask.\r\nAnd then we rate.",
    "comparisons": "arm: kind-2026-01-01/default and kind-2026-01-01/warm",
    "exclusion_rule": "Nothing is left out.",
    "agreement_floor": "0.6",
    "margin": "0.5",
    "correction": "holm",
}
COSTS = {"currency": "EUR", "ceiling": "20", "input_0": "1.5", "output_0": "6"}


@pytest.fixture(autouse=True)
def maintainer(client):
    BankFactory(name="Model Index demo", version="demo-1", items=5, pairs=2)
    user = make_user(Role.MAINTAINER)
    client.force_login(user)
    return user


@pytest.fixture
def drafted():
    return save_draft(parse_data(DEMO_PLAN.encode()))


def url(name, wave=None):
    return reverse(f"runs:{name}", args=[wave.code] if wave else [])


def send(client, name, data, wave=None):
    return client.post(url(name, wave), data)


def test_a_wave_is_planned_part_by_part_and_locked(client, maintainer):
    assertRedirects(send(client, "new", BASICS), reverse("runs:wave", args=["autumn"]))
    wave = Wave.objects.get()
    for name, data in (("subjects", SUBJECTS), ("preregistration", DECLARES), ("cost", COSTS)):
        assertRedirects(send(client, name, data, wave), url("wave", wave))
    assertContains(client.get(url("wave", wave)), "Nothing is missing. The plan can be locked.")

    assertRedirects(send(client, "lock", {"read": "on"}, wave), url("wave", wave))

    wave.refresh_from_db()
    assert wave.locked_at is not None
    assert wave.preregistration == "We ask.\nAnd then we rate."
    assert wave.preregistration_hash == hashlib.sha256(b"We ask.\nAnd then we rate.").hexdigest()
    assert str(wave.cost_ceiling) == "20.00"
    assert wave.declared.agreement_floor == 0.6
    runs = Run.objects.order_by("condition")
    assert [run.system_message for run in runs] == ["", "Be warm.\nAlways."]
    assert Response.objects.of_wave(wave).count() == 9 * 3 * 2
    assert Event.objects.get().actor == maintainer


def test_a_plan_of_pages_is_that_of_its_file(client):
    for name, data in (("new", BASICS), ("subjects", SUBJECTS), ("preregistration", DECLARES)):
        send(client, name, data, Wave.objects.first() if name != "new" else None)
    wave = Wave.objects.get()
    subject = wave.plan["subjects"][0]

    assert subject["sampling"] == {"temperature": 0.7}
    assert subject["conditions"][1] == {"name": "warm", "system_message": "Be warm.\nAlways."}
    assert wave.plan["declared"]["comparisons"] == [
        {"kind": "arm", "a": "kind-2026-01-01/default", "b": "kind-2026-01-01/warm"}
    ]


@pytest.mark.parametrize("name", PARTS)
def test_each_part_of_a_draft_has_its_page_until_it_is_locked(client, drafted, name):
    assert client.get(url(name, drafted)).status_code == 200

    lock_wave(drafted)

    assert client.get(url(name, drafted)).status_code == 404
    assert send(client, name, SUBJECTS, drafted).status_code == 404


@pytest.mark.parametrize("role", ["rater", "item reviewer", "adjudicator", "admin"])
def test_only_maintainers_plan(client, drafted, role):
    client.force_login(make_user(role))

    for name in PARTS:
        assert client.get(url(name, drafted)).status_code == 404
    assert client.get(url("new")).status_code == 404
    for name in ("act", "deviate", "ceiling", "lock"):
        assert send(client, name, {}, drafted).status_code == 404
    assert send(client, "load", {}).status_code == 404


def test_a_new_wave_keeps_what_was_typed_when_something_is_wrong(client):
    page = send(client, "new", {**BASICS, "trials": "2"})

    assertContains(page, "2 is too few: plan at least 3", status_code=422)
    assertContains(page, 'value="Autumn pilot"', status_code=422)
    assertContains(page, "Nothing you typed is lost.", status_code=422)
    assert not Wave.objects.exists()


def test_a_code_is_taken_once(client, drafted):
    page = send(client, "new", {**BASICS, "code": "demo"})
    assertContains(page, "There is a wave of this code already", status_code=422)
    drafted.refresh_from_db()
    assert drafted.title == "A demo"


@pytest.mark.parametrize("code", ["new", "a b"])
def test_a_code_can_stand_in_an_address(client, code):
    assert send(client, "new", {**BASICS, "code": code}).status_code == 422


def test_subjects_and_conditions_are_added_without_losing_a_word(client, drafted):
    page = send(client, "subjects", {**SUBJECTS, "add": "subjects"}, drafted)
    assertContains(page, "Subject 2")
    assertContains(page, "Be warm.")
    assertContains(page, 'value="kind-2026-01-01"')

    page = send(client, "subjects", {**SUBJECTS, "add": "conditions"}, drafted)
    assertContains(page, "Condition 3")


def test_what_is_wrong_with_a_subject_is_said_beside_it(client, drafted):
    wrong = {
        **SUBJECTS,
        "subjects-0-provider": "openai",
        "subjects-0-base_url": "http://example.org",
        "subjects-0-temperature": "9",
        "conditions-1-name": "default",
    }
    page = send(client, "subjects", wrong, drafted)

    assertContains(page, "would send the key unencrypted", status_code=422)
    assertContains(page, "9.0 is not a number from 0 to 2", status_code=422)
    assertContains(page, "stands 2 times; each needs a name of its own", status_code=422)
    drafted.refresh_from_db()
    assert drafted.plan["subjects"][0]["provider"] == "demo"


def test_a_registered_subject_is_chosen_as_it_is(client, drafted):
    known = SubjectFactory(sampling={"temperature": 0.2}, access_tier="api")
    send(client, "subjects", {**SUBJECTS, "subjects-0-registered": known.code}, drafted)

    drafted.refresh_from_db()
    (row,) = drafted.plan["subjects"]
    assert (row["snapshot"], row["sampling"]) == (known.snapshot, {"temperature": 0.2})
    assert lock_wave(drafted).runs.first().subject == known


# All there is to state of a subject beside its name and its conditions.
EVERYTHING = {
    "provider": "openai",
    "base_url": "https://api.example.org/v1",
    "digest": "sha256:abc",
    "product_surface": "base",
    "access_tier": "paid",
    "region": "eu",
    "system_prompt_status": "none",
    "moderation_layer": "absent",
    "tools": ["search", "a clock"],
    "quantisation": "none stated",
    "aliases": ["kind-latest"],
    "first_seen_date": "2026-01-02",
    "limits": {"in_flight": 2, "requests_a_minute": 60, "attempt_seconds": 30.5},
    "sampling": {"temperature": 0.7, "max_tokens": 800, "context_limit": 8000},
    "evidence": [
        {
            "source_url": "https://example.org",
            "publisher": "Lab",
            "published_at": "2026-01-01",
            "retrieved_at": "2026-01-02",
            "archive_or_hash": "sha256:1",
        }
    ],
}


@pytest.fixture
def stated():
    """A draft that states all of it."""
    data = parse_data(DEMO_PLAN.encode())
    data["subjects"][0] |= EVERYTHING
    return save_draft(plan_of(data).data)


def shown_on(page):
    """What a browser would send back of the form as it is shown."""
    form = page.context["form"]
    sent = {}
    for formset in (form.subjects, form.conditions):
        for part in (formset.management_form, *formset.forms):
            for field in part:
                value = field.value()
                sent[field.html_name] = "" if value is None else value
    return {name: value for name, value in sent.items() if not name.endswith("DELETE")}


def test_a_page_that_is_saved_as_it_is_shown_changes_nothing_of_a_plan(client, stated):
    before = stated.plan["subjects"]

    page = client.get(url("subjects", stated))
    assertRedirects(send(client, "subjects", shown_on(page), stated), url("wave", stated))

    stated.refresh_from_db()
    assert stated.plan["subjects"] == before
    assertContains(page, "Kept from the plan file, and not shown here: evidence.")


def test_what_the_page_does_not_show_stays_with_a_subject_whose_name_is_mended(client, stated):
    sent = shown_on(client.get(url("subjects", stated)))

    send(client, "subjects", {**sent, "subjects-0-snapshot": "kind-2026-01-02"}, stated)

    stated.refresh_from_db()
    (row,) = stated.plan["subjects"]
    assert (row["snapshot"], row["evidence"]) == ("kind-2026-01-02", EVERYTHING["evidence"])


def asked_of(provider, **more):
    described = {"provider": provider, "access_tier": "paid", "quantisation": "none stated", **more}
    return {**SUBJECTS, **{f"subjects-0-{key}": value for key, value in described.items()}}


@pytest.mark.parametrize(
    "subject",
    [
        asked_of("openai", base_url="https://api.example.org/v1", in_flight="4"),
        asked_of("anthropic", max_tokens="900", requests_a_minute="50"),
    ],
    ids=["compatible", "anthropic"],
)
def test_a_new_subject_of_each_protocol_is_planned_and_locked_by_pages(client, drafted, subject):
    assertRedirects(send(client, "subjects", subject, drafted), url("wave", drafted))
    send(client, "lock", {"read": "on"}, drafted)

    run = Run.objects.first()
    assert run.subject.provider == subject["subjects-0-provider"]
    assert run.subject.access_tier == "paid"
    assert run.subject.limit.in_flight == (4 if run.subject.provider == "openai" else None)


def test_anthropic_is_not_planned_without_the_most_it_may_say(client, drafted):
    page = send(client, "subjects", asked_of("anthropic"), drafted)
    assertContains(page, "the provider anthropic must be told it", status_code=422)
    assert page.context["form"].subjects.forms[0].errors.keys() == {"max_tokens"}


def local(server):
    return asked_of(
        "openai", base_url=server.base_url, runtime="ollama", **{"snapshot": "llama3:8b"}
    )


def test_the_digest_of_a_local_runtime_is_read_when_the_page_is_saved(client, drafted, server):
    server.said["/api/tags"] = {"models": [{"name": "llama3:8b", "digest": "a" * 64}]}

    assertRedirects(send(client, "subjects", local(server), drafted), url("wave", drafted))

    drafted.refresh_from_db()
    assert drafted.plan["subjects"][0]["digest"] == "a" * 64
    assert lock_wave(drafted).runs.first().subject.runtime == "ollama"


def test_a_runtime_that_serves_no_such_model_is_said_beside_the_digest(client, drafted, server):
    server.said["/api/tags"] = {"models": [{"name": "other", "digest": "a" * 64}]}

    page = send(client, "subjects", local(server), drafted)

    assertContains(page, "Ollama serves no llama3:8b; it serves: other.", status_code=422)
    assert page.context["form"].subjects.forms[0].errors.keys() == {"digest"}
    drafted.refresh_from_db()
    assert "runtime" not in drafted.plan["subjects"][0]


def test_limits_are_given_to_a_registered_subject_too(client, drafted):
    known = SubjectFactory()
    chosen = {"subjects-0-registered": known.code, "subjects-0-in_flight": "3"}

    send(client, "subjects", {**SUBJECTS, **chosen}, drafted)

    drafted.refresh_from_db()
    assert lock_wave(drafted).runs.first().subject.limit.in_flight == 3


def test_a_limit_that_is_none_is_said_beside_it(client, drafted):
    page = send(client, "subjects", asked_of("demo", in_flight="0"), drafted)
    assertContains(page, "0 is not a whole number from 1 to 1,000", status_code=422)
    assert page.context["form"].subjects.forms[0].errors.keys() == {"in_flight"}


def test_a_condition_may_be_for_one_subject_alone(client, drafted):
    two = {
        **SUBJECTS,
        "subjects-TOTAL_FORMS": "2",
        **{
            key.replace("-0-", "-1-"): value
            for key, value in SUBJECTS.items()
            if key.startswith("subjects-0")
        },
        "subjects-1-snapshot": "kind-2026-02-02",
        "conditions-1-of": "2",
    }
    send(client, "subjects", two, drafted)

    drafted.refresh_from_db()
    assert [[one["name"] for one in row["conditions"]] for row in drafted.plan["subjects"]] == [
        ["default"],
        ["default", "warm"],
    ]
    page = client.get(url("subjects", drafted))
    assertContains(page, '<option value="2" selected>Subject 2</option>', html=True)


def test_a_subject_that_is_left_out_takes_its_prices_and_comparisons_along(client):
    wave = save_draft(parse_data(WHOLE.encode()))
    other = {**SUBJECTS, "subjects-0-snapshot": "other-1"}

    send(client, "subjects", other, wave)

    wave.refresh_from_db()
    assert wave.plan["declared"]["comparisons"] == []
    assert wave.plan["cost"]["prices"] == []


def test_a_plan_file_takes_the_place_of_its_draft(client, drafted):
    text = DEMO_PLAN.replace('title = "A demo"', 'title = "Another"')
    file = SimpleUploadedFile("plan.toml", text.encode())

    assertRedirects(send(client, "load", {"file": file}), url("wave", drafted))

    drafted.refresh_from_db()
    assert drafted.title == "Another"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"\xff", "not UTF-8 text"),
        (b"code = 1", "code: 1 is not a text"),
        (
            DEMO_PLAN.replace("demo-1", "demo-2").encode(),
            "There is no bank Model Index demo demo-2",
        ),
    ],
)
def test_what_is_wrong_with_a_plan_file_is_said(client, raw, said):
    page = send(client, "load", {"file": SimpleUploadedFile("plan.toml", raw)})
    assertContains(page, said, status_code=422)


def test_a_draft_says_what_it_takes_and_what_is_missing(client):
    wave = save_draft(parse_data(DEMO_PLAN.replace('"local"', '"pilot"').encode()))

    page = client.get(url("wave", wave))

    assertContains(page, "9 items × 3 trials × 2 runs = 54")
    assertContains(page, "108 ratings, 2 of each response")
    assertContains(page, "A pilot wave needs an exclusion rule")
    assertNotContains(page, url("lock", wave))
    assertContains(page, "Draft, now")


def test_the_power_table_is_shown_before_a_plan_of_pairs_locks(client):
    bank = make_bank(pair_bank_data(10))
    text = DEMO_PLAN.replace("Model Index demo demo-1", str(bank))
    text = text.replace("trials = 3", "trials = 5")
    wave = save_draft(parse_data(text.encode()))

    page = client.get(url("lock", wave))

    assertContains(page, "How often a chamber shows parity, within 0.5 level")
    assertContains(page, '<td class="number">87%</td>', html=True)


def test_a_plan_is_locked_by_who_says_they_have_read_it(client, drafted):
    page = send(client, "lock", {}, drafted)

    assertContains(page, "Tick that you have read it.", status_code=422)
    drafted.refresh_from_db()
    assert drafted.is_draft


def test_a_plan_that_lacks_something_is_not_locked(client):
    wave = save_draft(parse_data(DEMO_PLAN.replace('"local"', '"official"').encode()))

    page = send(client, "lock", {"read": "on"}, wave)

    assertContains(page, "An official wave needs", status_code=422)
    assert not Run.objects.exists()


# A draft and its file


def test_a_draft_is_deleted_after_it_was_asked_about(client, maintainer, drafted):
    page = client.get(url("delete", drafted))
    assertContains(page, "All that is written of A demo goes.")
    assert Wave.objects.exists()

    assertRedirects(send(client, "delete", {}, drafted), url("waves"))

    assert not Wave.objects.exists()
    event = Event.objects.get()
    assert (event.kind, event.actor, event.about["wave"]) == ("delete", maintainer, "demo")


def test_a_plan_that_was_locked_meanwhile_is_not_deleted(drafted):
    lock_wave(drafted)
    with pytest.raises(WaveRefused, match="cancelled, never deleted"):
        delete_draft(drafted)


def test_the_file_of_a_draft_is_loaded_again_as_the_same_draft(client):
    wave = save_draft(parse_data(WHOLE.encode()))

    answer = client.get(url("file", wave))

    assert answer["Content-Disposition"] == 'attachment; filename="demo.toml"'
    assert parse_data(answer.content) == wave.plan
    assertContains(client.get(url("wave", wave)), "Download plan file")


def test_the_command_writes_a_plan_back_and_deletes_a_draft(drafted, capsys):
    call_command("run", "show", "demo")
    assert parse_data(capsys.readouterr().out.encode()) == drafted.plan

    call_command("run", "delete", "demo")
    assert not Wave.objects.exists()


# A wave that runs


def test_a_run_is_paused_resumed_and_cancelled_with_a_reason(client, maintainer):
    run = RunFactory(rows=True)

    for do, state in (("pause", "paused"), ("resume", "asking"), ("cancel", "cancelled")):
        send(client, "act", {"do": do, "run": run.pk, "reason": "To see it."}, run.wave)
        run.refresh_from_db()
        assert run.state == state

    assert [event.kind for event in Event.objects.order_by("pk")] == ["pause", "resume", "cancel"]
    assert {event.actor for event in Event.objects.all()} == {maintainer}
    assertContains(client.get(url("wave", run.wave)), "8 trials not asked")


def test_without_a_run_it_is_the_whole_wave(client):
    run = RunFactory(rows=True)
    RunFactory(wave=run.wave, condition="warm", rows=True)

    send(client, "act", {"do": "pause", "reason": "Lunch."}, run.wave)

    assert set(run.wave.runs.values_list("state", flat=True)) == {RunState.PAUSED}


def test_nothing_is_paused_without_a_reason_and_nothing_typed_is_lost(client):
    run = RunFactory(rows=True)
    page = send(client, "act", {"do": "cancel", "run": run.pk, "reason": ""}, run.wave)

    assertContains(page, "Say why, in a few words.", status_code=422)
    assertContains(
        page,
        f'<option value="{run.pk}" selected>{run.subject.code}, default</option>',
        status_code=422,
        html=True,
    )
    run.refresh_from_db()
    assert run.state == RunState.ASKING


def test_an_act_nobody_knows_is_none(client):
    run = RunFactory(rows=True)
    answer = send(client, "act", {"do": "delete", "reason": "x"}, run.wave)
    assert answer.status_code == 404


def test_a_run_of_another_wave_is_not_acted_on(client):
    run, other = RunFactory(rows=True), RunFactory(rows=True)
    answer = send(client, "act", {"do": "pause", "run": other.pk, "reason": "x"}, run.wave)

    assert answer.status_code == 422
    other.refresh_from_db()
    assert other.state == RunState.ASKING


def test_a_deviation_is_appended_and_shown_with_its_day(client, drafted):
    lock_wave(drafted)

    send(client, "deviate", {"text": "The server moved."}, drafted)

    page = client.get(url("wave", drafted))
    assertContains(page, "<strong>D1</strong>")
    assertContains(page, "before any data: The server moved.")
    assertContains(
        send(client, "deviate", {"text": ""}, drafted), "Say what is done", status_code=422
    )


def test_the_cost_so_far_is_shown_and_its_ceiling_moved(client):
    run = priced("50")
    Run.objects.filter(pk=run.pk).update(tokens_out=12)
    assertContains(client.get(url("wave", run.wave)), "spent 12.00 of 50.00 EUR")

    send(client, "ceiling", {"amount": "75", "reason": "Agreed."}, run.wave)

    assertContains(client.get(url("wave", run.wave)), "of 75.00 EUR")
    page = send(client, "ceiling", {"amount": "0", "reason": "Agreed."}, run.wave)
    assertContains(page, "A ceiling of 0 is none", status_code=422)


def test_a_draft_is_in_the_list_of_waves(client, drafted):
    page = client.get(url("waves"))
    assertContains(page, "draft")
    assertContains(page, "New wave")


def test_a_draft_cannot_be_started_by_hand(client, drafted):
    page = client.post(url("start", drafted), follow=True)
    assertContains(page, "is not locked")


@pytest.mark.parametrize("name", ["basics", "subjects", "preregistration", "cost", "lock"])
def test_whoever_sends_what_stands_on_an_older_plan_is_told_and_overwrites_nothing(
    client, drafted, name
):
    sent = {
        "basics": BASICS | {"code": drafted.code},
        "subjects": SUBJECTS,
        "preregistration": DECLARES,
        "cost": COSTS,
        "lock": {"read": "on"},
    }[name]
    opened = client.get(url(name, drafted)).context["on"]
    theirs = save_draft({**drafted.plan, "title": "By somebody else"})

    answer = send(client, name, sent | {"on": opened}, drafted)

    assertContains(answer, "Somebody else changed this draft", status_code=422)
    drafted.refresh_from_db()
    assert drafted.plan == theirs.plan
    assert drafted.is_draft
    # Sent again, it stands on theirs.
    assertRedirects(
        send(client, name, sent | {"on": answer.context["on"]}, drafted),
        reverse("runs:wave", args=[drafted.code]),
    )
    drafted.refresh_from_db()
    assert name == "basics" or drafted.title == "By somebody else"
