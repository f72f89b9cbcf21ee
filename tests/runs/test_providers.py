"""Asking over a real socket: a stand-in service, and a server that answers what a test says."""

import asyncio
import json
from datetime import UTC, datetime

import pytest

from runs.prompts import messages_for
from runs.providers import (
    GENERIC_REPLIES,
    DemoProvider,
    InTurn,
    OpenAIProvider,
    Question,
    RunStopped,
    ask,
    demo_replies,
    missing_key,
    pause_before_retry,
    provider_for,
)
from runs.replies import LARGEST_REPLY
from runs.subjects import set_limits
from tests.runs.factories import SubjectFactory

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def asked(base_url, prompt="Hello", seed=5, sampling=None):
    """The reply to one trial, and the pauses that were taken."""
    pauses = []

    async def pause(seconds):
        pauses.append(seconds)

    async def once():
        provider = OpenAIProvider("stub", base_url, sampling or {})
        question = Question(tuple(messages_for("", [], prompt)), seed)
        try:
            return await ask(provider, question, sleep=pause, now=lambda: NOON)
        finally:
            await provider.close()

    return asyncio.run(once()), pauses


def outcomes(reply):
    return [attempt["outcome"] for attempt in reply.attempts]


def error(code="", message="No.", **more):
    return json.dumps({"error": {"message": message, "code": code, **more}}).encode()


def fine(text="Hello"):
    return json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})


def test_a_reply_comes_back_over_the_wire(stub):
    reply, pauses = asked(stub(delay=0).base_url)

    assert reply.status == "completed"
    assert len(reply.text.split()) == 120
    assert reply.fingerprint == "fp_stub"
    assert reply.usage == {"prompt_tokens": 20, "completion_tokens": 120, "total_tokens": 140}
    (attempt,) = reply.attempts
    assert attempt == {
        "outcome": "completed",
        "detail": "",
        "at": NOON.isoformat(),
        "seed": 5,
        "usage": reply.usage,
    }
    assert pauses == []


def test_a_busy_service_is_asked_four_times_and_waited_for_as_it_says(stub):
    service = stub(delay=0, r429=1, retry_after=7)

    reply, pauses = asked(service.base_url)

    assert reply.status == "failed"
    assert outcomes(reply) == ["rate_limit"] * 4
    assert [attempt["seed"] for attempt in reply.attempts] == [5, 6, 7, 8]
    assert pauses == [7, 7, 7]
    assert service.stats()["requests"] == 4


def test_a_broken_service_is_asked_three_times(stub):
    reply, pauses = asked(stub(delay=0, r500=1).base_url)

    assert reply.status == "failed"
    assert outcomes(reply) == ["server"] * 3
    assert 0 <= pauses[0] <= 1
    assert 0 <= pauses[1] <= 2


def test_a_silent_service_is_left_after_the_time_set(stub, settings):
    settings.ASK_TIMEOUT_SECONDS = 0.2

    reply, _ = asked(stub(rtimeout=1, hang=30).base_url)

    assert reply.status == "failed"
    assert outcomes(reply) == ["timeout"] * 3
    assert reply.attempts[0]["detail"] == "no reply within 0.2 s"


def test_a_service_that_is_not_there_is_a_network_trouble():
    reply, _ = asked("http://127.0.0.1:9/v1")

    assert reply.status == "failed"
    assert outcomes(reply) == ["network"] * 3


def test_an_empty_reply_is_asked_again_twice(stub):
    service = stub(delay=0, rempty=1)

    reply, _ = asked(service.base_url)

    assert reply.status == "failed"
    assert outcomes(reply) == ["empty"] * 3
    assert service.stats()["requests"] == 3


def test_a_filtered_reply_is_recorded_and_never_asked_again(stub):
    service = stub(delay=0, rfilter=1)

    reply, _ = asked(service.base_url)

    assert reply.status == "filtered"
    assert service.stats()["requests"] == 1


def test_trouble_that_passes_leaves_a_reply_and_its_record(server):
    server.answers = [
        (500, {}, b"oops"),
        (200, {}, fine("").encode()),
        (429, {"Retry-After": "0"}, error("rate_limit_exceeded")),
        (200, {}, fine().encode()),
    ]

    reply, _ = asked(server.base_url)

    assert (reply.status, reply.text) == ("completed", "Hello")
    assert outcomes(reply) == ["server", "empty", "rate_limit", "completed"]


def test_a_filter_may_answer_with_an_error(server):
    for body in (
        error("content_filter"),
        error("other", innererror={"code": "ResponsibleAIPolicyViolation"}),
    ):
        server.answers = [(400, {}, body)]
        assert asked(server.base_url)[0].status == "filtered"
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "invalid_api_key"),
        (403, ""),
        (404, "model_not_found"),
        (400, "unsupported_parameter"),
        (422, ""),
        (402, ""),
        (429, "insufficient_quota"),
        (302, ""),
    ],
)
def test_what_every_trial_would_meet_stops_the_run(server, status, code):
    server.answers = [(status, {"Location": "http://127.0.0.1:9/"}, error(code, "Not like this."))]

    with pytest.raises(RunStopped, match=f"{status}: .*Not like this") as stopped:
        asked(server.base_url)

    assert [attempt["outcome"] for attempt in stopped.value.attempts] == ["stop"]
    assert len(server.seen) == 1


def test_what_is_sent_is_the_conversation_the_seed_and_the_sampling(server):
    server.answers = [(200, {}, fine().encode())]

    asked(server.base_url, "Exactly this", sampling={"temperature": 0.5, "max_tokens": 9})

    (_, body), *_ = server.seen
    assert body == {
        "model": "stub",
        "messages": [{"role": "user", "content": "Exactly this"}],
        "seed": 5,
        "temperature": 0.5,
        "max_tokens": 9,
    }


def test_a_reply_without_end_is_not_read_to_its_end(server):
    server.answers = [(200, {}, b"x" * (5 * LARGEST_REPLY))]

    reply, _ = asked(server.base_url)

    assert reply.status == "malformed"
    assert len(reply.raw) == LARGEST_REPLY


def test_compression_nobody_asked_for_is_not_undone(server):
    server.answers = [(200, {"Content-Encoding": "gzip"}, b"\x1f\x8b whatever")]

    reply, _ = asked(server.base_url)

    assert (reply.status, reply.raw) == ("malformed", b"\x1f\x8b whatever")


def test_an_error_may_hold_anything(server):
    server.answers = [(500, {}, b"\x00\xff" * 3_000_000)]

    reply, _ = asked(server.base_url)

    assert outcomes(reply) == ["server"] * 3
    assert len(reply.detail) < 400
    assert "\x00" not in reply.detail


def test_a_key_comes_from_the_environment_and_stays_off_this_machine(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    server.answers = [(200, {}, fine().encode())]

    asked(server.base_url)

    assert "sk-secret" not in str(server.seen)


@pytest.mark.django_db
def test_without_a_key_a_remote_subject_is_not_asked(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    remote = SubjectFactory(provider="openai")

    assert "set OPENAI_API_KEY" in missing_key(remote)
    with pytest.raises(RunStopped, match="set OPENAI_API_KEY"):
        provider_for(remote)
    assert missing_key(SubjectFactory(provider="openai", base_url="http://[::1]:1/v1")) == ""
    assert missing_key(SubjectFactory(provider="demo")) == ""


@pytest.mark.django_db
def test_imported_responses_are_never_asked_for():
    with pytest.raises(RunStopped, match="imported"):
        provider_for(SubjectFactory(provider="import"))


def test_a_pause_grows_is_drawn_and_has_a_longest():
    pauses = [pause_before_retry(seed, 3) for seed in range(200)]

    assert pauses == [pause_before_retry(seed, 3) for seed in range(200)]
    assert max(pauses) < 4
    assert min(pauses) < 0.5
    assert 1.5 < sum(pauses) / 200 < 2.5
    assert max(pause_before_retry(seed, 20) for seed in range(200)) <= 30
    assert pause_before_retry(1, 1, retry_after=1e9) == 120


def test_the_scripted_subject_says_what_its_script_says(tmp_path, monkeypatch):
    script = tmp_path / "replies.json"
    script.write_text(json.dumps({"replies": [{"prompt": "Hi", "texts": ["One", "Two"]}]}))
    replies = demo_replies(script)
    monkeypatch.setattr("runs.providers.demo_replies", lambda: replies)
    demo = DemoProvider(delay=0)

    def says(prompt, seed):
        return asyncio.run(demo.ask_once(messages_for("", [], prompt), seed)).text

    assert {says("Hi", seed) for seed in range(20)} == {"One", "Two"}
    assert [says("Hi", seed) for seed in range(20)] == [says("Hi", seed) for seed in range(20)]
    assert says("Something else", 1) in GENERIC_REPLIES


def test_there_may_be_no_script(tmp_path):
    assert demo_replies(tmp_path / "none.json") == {}


@pytest.mark.django_db
@pytest.mark.parametrize(("in_flight", "clients"), [(1, 1), (32, 1), (33, 2), (128, 4)])
def test_many_calls_of_a_subject_are_spread_over_clients(in_flight, clients):
    subject = SubjectFactory(provider="openai", base_url="http://127.0.0.1:9/v1")
    set_limits(subject, {"in_flight": in_flight})
    assert len(provider_for(subject)._clients) == clients


def test_clients_are_asked_in_turn_and_all_are_closed():
    heard = []

    class Client:
        def __init__(self, name):
            self.name = name

        async def ask_once(self, messages, seed):
            heard.append(self.name)

        async def close(self):
            heard.append(f"{self.name} closed")

    async def three_times():
        both = InTurn([Client("a"), Client("b")])
        for seed in range(3):
            await both.ask_once([], seed)
        await both.close()

    asyncio.run(three_times())
    assert heard == ["a", "b", "a", "a closed", "b closed"]
