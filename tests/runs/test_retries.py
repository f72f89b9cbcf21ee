"""Every row of the retry table, for both protocols, over a real socket; and what a call may cost."""

import asyncio
import json
import socket
import threading
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest

from runs.anthropic_api import AnthropicProvider
from runs.prompts import messages_for
from runs.providers import OpenAIProvider, Question, RunStopped, ask
from runs.replies import LARGEST_REPLY
from runs.tokens import tokens_paid
from runs.wire import retry_after

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
KEY = "sk-very-secret-0123456789"
PROVIDERS = {"openai": OpenAIProvider, "anthropic": AnthropicProvider}
both = pytest.mark.parametrize("protocol", PROVIDERS)


def asked(protocol, base_url, *, attempt=30.0, idle=30.0, system="", sampling=None):
    """The reply to one trial, and the pauses that were taken."""
    pauses = []

    async def pause(seconds):
        pauses.append(seconds)

    async def once():
        provider = PROVIDERS[protocol](
            "kind-1", base_url, sampling or {"max_tokens": 9}, key=KEY, attempt=attempt, idle=idle
        )
        try:
            question = Question(tuple(messages_for(system, [], "Hello there")), 5)
            return await ask(provider, question, sleep=pause, now=lambda: NOON)
        finally:
            await provider.close()

    return asyncio.run(once()), pauses


def outcomes(reply):
    return [attempt["outcome"] for attempt in reply.attempts]


def said(protocol, text="Hello", ended=None):
    if protocol == "openai":
        choice = {"message": {"content": text}, "finish_reason": ended or "stop"}
        return json.dumps({"choices": [choice]}).encode()
    block = [{"type": "text", "text": text}]
    body = {"content": block, "stop_reason": ended or "end_turn", "model": "kind-1"}
    return json.dumps(body).encode()


def error(kind="", message="No."):
    return json.dumps(
        {"type": "error", "error": {"type": kind, "code": kind, "message": message}}
    ).encode()


@both
@pytest.mark.parametrize(
    ("faults", "outcome", "times", "status"),
    [
        ({"r429": 1, "retry_after": 7}, "rate_limit", 4, "failed"),
        ({"r500": 1}, "server", 3, "failed"),
        ({"rempty": 1}, "empty", 3, "failed"),
        ({"rfilter": 1}, "filtered", 1, "filtered"),
        ({}, "completed", 1, "completed"),
    ],
    ids=["rate limit", "server", "empty", "filter", "fine"],
)
def test_each_row_of_the_table(stub, protocol, faults, outcome, times, status):
    service = stub(delay=0, **faults)

    reply, pauses = asked(protocol, service.base_url)

    assert reply.status == status
    assert outcomes(reply) == [outcome] * times
    assert service.stats()["requests"] == times
    assert len(pauses) == times - 1
    if "retry_after" in faults:
        assert pauses == [7, 7, 7]
    else:
        assert all(0 <= pause <= 2**tries for tries, pause in enumerate(pauses))


@both
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (402, "billing_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (422, ""),
        (302, ""),
    ],
)
def test_what_every_trial_would_meet_stops_the_run(server, protocol, status, kind):
    server.answers = [(status, {}, error(kind, f"Not with {KEY}."))]

    with pytest.raises(RunStopped, match=f"{status}: .*Not with …") as stopped:
        asked(protocol, server.base_url)

    assert KEY not in f"{stopped.value} {stopped.value.attempts}"
    assert len(server.seen) == 1


@both
def test_each_attempt_says_what_it_used(server, protocol):
    used = {
        "openai": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
        "anthropic": {"input_tokens": 3, "output_tokens": 4},
    }[protocol]
    empty, full = (
        json.dumps({**json.loads(said(protocol, text)), "usage": used}).encode()
        for text in ("", "Hello")
    )
    server.answers = [(200, {}, empty), (500, {}, error()), (200, {}, full)]

    reply, _ = asked(protocol, server.base_url)

    counted = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    assert outcomes(reply) == ["empty", "server", "completed"]
    assert [attempt.get("usage") for attempt in reply.attempts] == [counted, None, counted]
    assert tokens_paid(reply.attempts, []) == {"in": 6, "out": 8}


def test_a_quota_that_is_used_up_stops_the_run_though_it_looks_like_a_rate_limit(server):
    for body in (error("insufficient_quota"), b'{"error": {"type": "insufficient_quota"}}'):
        server.answers = [(429, {}, body)]
        with pytest.raises(RunStopped):
            asked("openai", server.base_url)


def test_too_much_to_do_is_asked_again_after_the_time_named(server):
    server.answers = [
        (529, {"Retry-After": "3"}, error("overloaded_error", "Overloaded")),
        (200, {}, said("anthropic")),
    ]

    reply, pauses = asked("anthropic", server.base_url)

    assert outcomes(reply) == ["server", "completed"]
    assert pauses == [3]


@both
def test_a_wait_named_as_a_date_is_kept_to(server, protocol):
    when = datetime.now(UTC) + timedelta(seconds=60)
    server.answers = [
        (429, {"Retry-After": format_datetime(when, usegmt=True)}, error()),
        (200, {}, said(protocol)),
    ]

    _, (pause,) = asked(protocol, server.base_url)

    assert 40 < pause <= 60


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("5", 5),
        ("0.5", 0.5),
        ("-1", None),
        ("", None),
        ("soon", None),
        ("Mon, 30 Nov 2026 12:00:30 GMT", 30),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0),
    ],
)
def test_how_a_wait_is_read(header, seconds):
    assert retry_after(httpx2.Headers({"Retry-After": header}), NOON) == seconds


@both
def test_a_service_that_is_not_there_is_asked_three_times(protocol):
    reply, _ = asked(protocol, "http://127.0.0.1:9/v1")

    assert outcomes(reply) == ["network"] * 3


@contextmanager
def dripping(first=b"", every=None):
    """A server that takes a request, says ``first``, and then a byte now and then or nothing."""
    listening = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve():
        while not ended.is_set():
            with suppress(OSError):
                talk, _ = listening.accept()
                threading.Thread(target=drip, args=(talk,), daemon=True).start()

    def drip(talk):
        with suppress(OSError), talk:
            talk.recv(65536)
            talk.sendall(first)
            while not ended.wait(every or 0.05):
                if every:
                    talk.sendall(b"x")

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        ended.set()
        listening.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n{"


@both
def test_a_call_that_never_answers_costs_the_idle_limit(protocol):
    with dripping() as address:
        reply, _ = asked(protocol, address, attempt=30, idle=0.2)

    assert outcomes(reply) == ["timeout"] * 3
    assert reply.attempts[0]["detail"] == "nothing came for 0.2 s"


@both
def test_a_server_that_drips_is_left_when_the_attempt_has_had_its_time(protocol):
    with dripping(HEAD, every=0.05) as address:
        reply, _ = asked(protocol, address, attempt=0.4, idle=0.3)

    assert outcomes(reply) == ["timeout"] * 3
    assert reply.attempts[0]["detail"] == "no reply within 0.4 s"


@both
def test_a_body_without_end_is_cut(server, protocol):
    server.answers = [(200, {}, b"x" * (3 * LARGEST_REPLY))]

    reply, _ = asked(protocol, server.base_url)

    assert (reply.status, len(reply.raw)) == ("malformed", LARGEST_REPLY)


def test_what_is_sent_to_anthropic(server):
    server.answers = [(200, {}, said("anthropic"))]

    asked(
        "anthropic",
        server.base_url,
        system="Be brief.",
        sampling={"max_tokens": 9, "temperature": 0.5, "context_limit": 8000},
    )

    ((headers, body),) = server.seen
    assert body == {
        "model": "kind-1",
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Hello there"}],
        "max_tokens": 9,
        "temperature": 0.5,
    }
    assert headers["x-api-key"] == KEY
    assert "anthropic-version" in headers


@pytest.mark.parametrize(
    ("ended", "status", "finish_reason"),
    [
        ("end_turn", "completed", "stop"),
        ("stop_sequence", "completed", "stop"),
        ("max_tokens", "completed", "length"),
        ("refusal", "filtered", "content_filter"),
        ("pause_turn", "completed", "pause_turn"),
    ],
)
def test_why_a_reply_of_anthropics_ended(server, ended, status, finish_reason):
    server.answers = [(200, {}, said("anthropic", "I would rather not.", ended))]

    reply, _ = asked("anthropic", server.base_url)

    assert (reply.status, reply.finish_reason) == (status, finish_reason)
    assert reply.text == "I would rather not."
    assert reply.fingerprint == "kind-1"


def test_only_what_is_said_is_the_reply_and_usage_is_counted(server):
    body = {
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "I am "},
            {"type": "text", "text": "here."},
        ],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    server.answers = [(200, {}, json.dumps(body).encode())]

    reply, _ = asked("anthropic", server.base_url)

    assert reply.text == "I am here."
    assert reply.usage == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"content": 1}', b'{"content": [1]}', b"\xff", b'{"content": [{"type": "text"}]}',
     b'{"content": [{"type": "text", "text": 1}]}', b'{"content": [{"type": "text", "text": "\\ud800"}]}'],
)  # fmt: skip
def test_whatever_else_comes_is_malformed(server, body):
    server.answers = [(200, {}, body)]

    assert asked("anthropic", server.base_url)[0].status == "malformed"
