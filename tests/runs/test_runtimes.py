"""The digest of what a local runtime serves: read, verified before and during a run."""

import asyncio

import pytest

from runs import runtimes
from runs.prompts import messages_for
from runs.providers import RunStopped
from runs.replies import Reply
from runs.runtimes import NoDigest, Verified, digest_in, read_digest

OLLAMA = {
    "models": [
        {"name": "llama3:8b", "digest": "a" * 64},
        {"name": "phi:latest", "digest": "b" * 64},
    ]
}
PROPS = {
    "model_path": "/m/llama.gguf",
    "build_info": "b4242",
    "chat_template": "x",
    "total_slots": 4,
}
VLLM = {"data": [{"id": "org/model", "root": "org/model", "max_model_len": 8192, "created": 1}]}


def test_ollama_names_the_digest_itself():
    assert digest_in("ollama", "llama3:8b", OLLAMA) == "a" * 64
    assert digest_in("ollama", "phi", OLLAMA) == "b" * 64


@pytest.mark.parametrize(
    ("runtime", "name", "told", "changes"),
    [
        ("llama.cpp", "any", PROPS, {"model_path": "/m/other.gguf"}),
        ("llama.cpp", "any", PROPS, {"build_info": "b4243"}),
        ("vllm", "org/model", VLLM, {"root": "org/other"}),
    ],
)
def test_of_the_others_what_they_say_of_themselves_is_hashed(runtime, name, told, changes):
    before = digest_in(runtime, name, told)
    if runtime == "vllm":
        after = digest_in(runtime, name, {"data": [told["data"][0] | changes]})
        same = digest_in(runtime, name, {"data": [told["data"][0] | {"created": 99}]})
    else:
        after = digest_in(runtime, name, told | changes)
        same = digest_in(runtime, name, told | {"total_slots": 9})

    assert before.startswith("said:")
    assert before == same != after


@pytest.mark.parametrize(
    ("runtime", "told", "said"),
    [
        ("ollama", {"models": []}, "serves no m; it serves: nothing"),
        ("ollama", OLLAMA, "it serves: llama3:8b, phi:latest"),
        ("ollama", [], "answered something else"),
        ("ollama", {"models": [1]}, "answered something else"),
        ("llama.cpp", {}, "which file"),
        ("llama.cpp", 3, "answered something else"),
        ("vllm", VLLM, "it serves: org/model"),
    ],
)
def test_a_runtime_that_does_not_say_is_named(runtime, told, said):
    with pytest.raises(NoDigest, match=said):
        digest_in(runtime, "m", told)


def test_it_is_read_from_beside_the_address_that_is_asked(server):
    server.said = {"/api/tags": OLLAMA, "/props": PROPS, "/v1/models": VLLM}

    def read(runtime, name):
        return asyncio.run(read_digest(runtime, server.base_url, name))

    assert read("ollama", "llama3:8b") == "a" * 64
    assert read("llama.cpp", "any").startswith("said:")
    assert read("vllm", "org/model").startswith("said:")


class Counting:
    """A provider that serves another model from its n-th call on."""

    def __init__(self, server, changes_at):
        self.server, self.changes_at, self.calls = server, changes_at, 0

    async def ask_once(self, messages, seed):
        self.calls += 1
        if self.calls == self.changes_at:
            self.server.said = {"/api/tags": {"models": [{"name": "m", "digest": "other"}]}}
        return Reply("completed", text="Hello")

    async def close(self):
        pass


def verified(server, changes_at=0):
    inner = Counting(server, changes_at)
    told = {"runtime": "ollama", "base_url": server.base_url, "snapshot": "m", "registered": "mine"}
    return inner, Verified(inner, **told)


def ask_times(provider, times):
    async def all_of_them():
        for seed in range(times):
            await provider.ask_once(messages_for("", [], "Hi"), seed)

    asyncio.run(all_of_them())


def test_a_digest_that_is_not_the_registered_one_stops_before_the_first_call(server):
    server.said = {"/api/tags": {"models": [{"name": "m", "digest": "other"}]}}
    inner, provider = verified(server)

    with pytest.raises(RunStopped, match=r"serves m with digest other.*registered with mine\."):
        ask_times(provider, 1)

    assert inner.calls == 0


def test_a_digest_that_changes_is_noticed_within_fifty_calls(server):
    server.said = {"/api/tags": {"models": [{"name": "m", "digest": "mine"}]}}
    inner, provider = verified(server, changes_at=60)

    with pytest.raises(RunStopped, match="the 50 calls before this one may have met it"):
        ask_times(provider, 200)

    assert inner.calls == 100


def test_a_runtime_that_cannot_be_asked_stops_the_run(server, monkeypatch):
    monkeypatch.setattr(runtimes, "TRIES", 1)
    _, provider = verified(server)

    with pytest.raises(RunStopped, match="cannot be verified: ollama answered 404"):
        ask_times(provider, 1)
