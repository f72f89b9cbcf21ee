"""Who is let in: each call against each kind of token there can be."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from rating.api import keys
from rating.api.app import _operations, scopes
from rating.models import Event, EventKind, Role
from rating.people import set_access
from rating.tokens import SCOPES, ApiToken
from runs.models import Wave
from tests.factories import make_user, make_wave, rated
from tests.rating.api.conftest import ROOT, Program, program_of
from tests.runs.factories import RunFactory, SubjectFactory

pytestmark = pytest.mark.django_db

ONE_SET = {
    "name": "A study",
    "source": "Two people, in a spreadsheet.",
    "scale": "1-5",
    "ratings": [
        {"rater": rater, "unit": str(unit), "level": level + unit % 2}
        for unit in range(3)
        for rater, level in (("a", 2), ("b", 3))
    ],
}


@pytest.fixture
def run():
    """A run whose replies a program brings."""
    run = RunFactory(
        subject=SubjectFactory(provider="import"), wave__bank__items=3, wave__trials=2, rows=True
    )
    Wave.objects.filter(pk=run.wave_id).update(locked_at=timezone.now())
    run.wave.refresh_from_db()
    return run


def calls_of(run, brought):
    """Each call by its name: how it is made, and the answer to whoever may make it."""
    wave = run.wave
    replies = {"subject": run.subject.code, "responses": [{"item": "none", "trial": 1, "text": ""}]}
    at = f"/waves/{wave.code}"
    return {
        "list_waves": ("GET", "/waves", None, 200),
        "read_wave": ("GET", at, None, 200),
        "read_progress": ("GET", f"{at}/progress", None, 200),
        "list_pending": ("GET", f"{at}/pending?subject={run.subject.code}", None, 200),
        "read_agreement": ("GET", f"{at}/agreement", None, 200),
        "read_gate": ("GET", f"{at}/gate", None, 200),
        "list_ratings": ("GET", f"{at}/ratings", None, 200),
        "read_results": ("GET", f"{at}/results", None, 409),
        "import_responses": ("POST", f"{at}/responses", replies, 422),
        "list_banks": ("GET", "/banks", None, 200),
        "read_bank": ("GET", f"/banks/{wave.bank_id}", None, 200),
        "list_items": ("GET", f"/banks/{wave.bank_id}/items", None, 200),
        "bring_ratings": ("POST", "/elsewhere", ONE_SET, 201),
        "list_elsewhere": ("GET", "/elsewhere", None, 200),
        "read_elsewhere": ("GET", f"/elsewhere/{brought}", None, 200),
        "let_go": ("DELETE", f"/elsewhere/{brought}", None, 404),
    }


def ask(program, method, path, body):
    if method == "POST":
        return program.post(path, body)
    return program.delete(path) if method == "DELETE" else program.get(path)


@pytest.fixture
def calls(run, program):
    brought = program.post("/elsewhere", ONE_SET).json()["code"]
    found = calls_of(run, brought)
    assert set(found) == set(scopes()), "every call that asks for a scope is here"
    return found


def answers(program, calls):
    return {name: ask(program, *call[:3]).status_code for name, call in calls.items()}


def test_every_call_but_those_of_published_reports_asks_for_a_scope():
    names = {operation.view_func.__name__ for operation in _operations()}
    assert names - set(scopes()) == {"list_reports", "read_report"}


@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_opens_its_own_calls_and_no_other(calls, scope):
    found = answers(program_of(scopes=[scope]), calls)

    of = scopes()
    assert found == {name: call[3] if of[name] == scope else 403 for name, call in calls.items()}


def test_without_a_living_token_nothing_is_opened(calls):
    now = timezone.now()
    ended, over, left, lost, other = (program_of() for _ in range(5))
    keys.end_token(ended.token, ended.person, now=now)
    old, secret = keys.make_token(
        over.person, "old", list(SCOPES), now=now - timedelta(days=31), days=30
    )
    left.person.is_active = False
    left.person.save()
    lost.person.groups.set(Group.objects.filter(name=Role.RATER))
    none, garbage = Program(old, ""), Program(old, "cmpn_" + "x" * 43)
    lower = Program(other.token, other.secret.lower())

    for program in (none, garbage, lower, ended, Program(old, secret), left):
        assert set(answers(program, calls).values()) == {401}
    assert set(answers(lost, calls).values()) == {403}


def test_a_token_of_somebody_without_the_factor_they_must_have_opens_nothing(calls, settings):
    program = program_of()
    settings.SECOND_FACTOR = True

    assert set(answers(program, calls).values()) == {403}
    assert "set up a second factor" in program.get("/waves").json()["detail"]


def test_a_token_does_not_come_back_with_the_account_that_was_closed(program):
    admin, now = make_user(Role.ADMIN), timezone.now()
    for may_come_in in (False, True):
        roles = [Role.MAINTAINER]
        set_access(program.person, admin, roles, may_come_in=may_come_in, reason="A.", now=now)

    assert program.get("/waves").status_code == 401


def test_a_token_for_one_wave_finds_no_other_and_nothing_that_is_of_none(calls, run):
    other = make_wave()
    mine, foreign = program_of(wave=run.wave), program_of(wave=other)

    of_a_wave = [name for name, call in calls.items() if f"/{run.wave.code}" in call[1]]
    of_none = {
        name: 403 for name, call in calls.items() if call[1].startswith(("/banks", "/elsewhere"))
    }
    expected = {name: call[3] for name, call in calls.items()} | of_none
    assert answers(mine, calls) == expected
    assert answers(foreign, calls) == expected | dict.fromkeys(of_a_wave, 404)
    assert [one["code"] for one in mine.get("/waves").json()["items"]] == [run.wave.code]


def test_an_admin_who_is_no_maintainer_reads_banks_alone(calls):
    admin = program_of(make_user(Role.ADMIN), ["read:banks"])

    assert answers(admin, calls) == {
        name: 200 if scope == "read:banks" else 403 for name, scope in scopes().items()
    }
    with pytest.raises(keys.Refused, match="has no role for read:progress"):
        program_of(make_user(Role.ADMIN), ["read:progress"])
    with pytest.raises(keys.Refused, match="has no role"):
        program_of(make_user(Role.RATER), ["read:banks"])


def test_a_session_opens_nothing(calls, client):
    client.force_login(make_user(*Role.values))

    assert {client.get(ROOT + call[1]).status_code for call in calls.values()} <= {401, 405}
    assert client.get(f"{ROOT}/waves").status_code == 401


def test_a_refusal_says_what_is_missing_and_how_to_come_in(programs):
    program = programs(scopes=["read:banks"])

    closed, unknown = program.get("/waves"), program.client.get(f"{ROOT}/waves")

    assert "lacks the scope read:progress" in closed.json()["detail"]
    assert 'error="insufficient_scope", scope="read:progress"' in closed["WWW-Authenticate"]
    assert unknown["WWW-Authenticate"] == 'Bearer realm="Compassion"'
    assert unknown.json()["request_id"] == unknown["X-Request-ID"]


def test_that_a_token_is_used_is_kept_to_the_quarter_of_an_hour(program, django_assert_num_queries):
    program.get("/waves")
    first = ApiToken.objects.get().last_used_at
    program.get("/waves")

    assert first is not None
    assert ApiToken.objects.get().last_used_at == first

    ApiToken.objects.update(last_used_at=first - timedelta(minutes=16))
    program.get("/waves")
    assert ApiToken.objects.get().last_used_at > first


def test_making_using_and_ending_are_in_the_log(program):
    program.post("/elsewhere", ONE_SET)
    keys.end_token(program.token, program.person, now=timezone.now())

    steps = [one.about for one in Event.objects.filter(kind=EventKind.TOKEN).order_by("pk")]
    assert [about["step"] for about in steps] == ["made", "wrote", "ended"]
    assert {about["token"] for about in steps} == {program.token.prefix}
    assert steps[1]["path"] == "/api/v1/elsewhere"
    assert program.secret not in str(steps)


def test_of_a_secret_only_its_hash_is_kept(program):
    row = ApiToken.objects.values().get()

    assert program.secret not in str(row)
    assert len(row["secret_hash"]) == 64
    assert len(program.secret) - len(row["prefix"]) > 32


def test_reading_figures_through_a_program_is_seeing_them(program, run):
    wave = make_wave()
    one, two = make_user(Role.RATER), make_user(Role.RATER)
    for rater in (one, two):
        rated(rater)

    def seen():
        rows = program.person.exposures.filter(wave=wave)
        return sorted(rows.values_list("saw", flat=True))

    program.get(f"/waves/{wave.code}/progress")
    program.get(f"/waves/{wave.code}/results")
    assert seen() == []
    program.get(f"/waves/{wave.code}/agreement")
    program.get(f"/waves/{wave.code}/gate")
    assert seen() == ["figures", "figures"]
    program.get(f"/waves/{wave.code}/ratings")
    assert seen() == ["figures", "figures", "ratings"]
