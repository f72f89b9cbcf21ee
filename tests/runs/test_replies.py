import json

import pytest

from runs.replies import LARGEST_REPLY, read_reply


def body(content="Hello", finish_reason="stop", **more):
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": finish_reason}
    return json.dumps({"choices": [choice], **more}).encode()


def test_a_reply_is_kept_verbatim():
    text = " Zwei\r\nZeilen \u2764\ufe0f\u200b\t"
    reply = read_reply(
        body(text, system_fingerprint="fp1", usage={"prompt_tokens": 3, "total_tokens": 9})
    )

    assert (reply.status, reply.text, reply.finish_reason) == ("completed", text, "stop")
    assert reply.fingerprint == "fp1"
    assert reply.usage == {"prompt_tokens": 3, "total_tokens": 9}
    assert reply.raw is None


def test_a_refusal_the_subject_wrote_is_its_reply():
    choice = {"message": {"content": None, "refusal": "I would rather not."}}

    reply = read_reply(json.dumps({"choices": [choice]}).encode())

    assert (reply.status, reply.text) == ("completed", "I would rather not.")


@pytest.mark.parametrize("text", ["", " \n", None])
def test_an_empty_reply_is_no_reply(text):
    assert read_reply(body(text)).status == "failed"


def test_what_the_provider_filtered_is_filtered():
    assert read_reply(body("", "content_filter")).status == "filtered"
    assert read_reply(body("Half of it", "content_filter")).status == "filtered"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b'{"choices": []}',
        b'{"choices": {}}',
        b'{"choices": [null]}',
        b'{"choices": [{"message": "Hello"}]}',
        b'{"choices": [{"message": {"content": ["Hello"]}}]}',
        b'{"choices": [{"message": {"content": 7}}]}',
        b"[" * 100_000,
        b'{"choices": ' + b"9" * 10_000 + b"}",
        body("nul \x00"),
        body("half a pair \ud800"),
        body("\udfff"),
    ],
    ids=lambda raw: repr(raw[:40]),
)
def test_what_is_no_reply_is_malformed_and_its_bytes_are_kept(raw):
    reply = read_reply(raw)

    assert (reply.status, reply.text, reply.raw) == ("malformed", "", raw)
    assert reply.detail


def test_a_reply_without_end_is_cut():
    reply = read_reply(body("x" * (LARGEST_REPLY + 1)))

    assert reply.status == "malformed"
    assert reply.raw is not None
    assert len(reply.raw) == LARGEST_REPLY


def test_what_no_table_can_hold_is_taken_out_of_the_small_print():
    reply = read_reply(
        body(
            finish_reason="s\x00" + "p" * 100,
            system_fingerprint={"a": 1},
            usage={"prompt_tokens": 2**40, "completion_tokens": True, "total_tokens": -1, "x": 1},
        )
    )

    assert reply.finish_reason == "s\ufffd" + "p" * 48
    assert reply.fingerprint == ""
    assert reply.usage == {}
