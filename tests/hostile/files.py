"""Files that are nearly right: each reader must take one whole, or refuse it in words of its own."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from django.core.management.base import CommandError

from rating.label_studio import read_label_studio
from rating.management.commands.quotes import _pairs
from rating.probe.chain import Chain
from rating.probe.refusals import Refused
from rating.publishing.bundle import BadBundle, read_bundle, reproduce
from rating.ratings_file import FileRefused, read_ratings
from runs.bank import BankRefused, parse_bank
from runs.canonical import digest
from runs.plan_file import PlanFileRefused, parse_plan, parse_subject
from runs.replies import read_messages_reply, read_reply
from runs.waves import _imported, _parsed
from tests.factories import bank_data, pair_bank_data
from tests.hostile.corpus import Chance

PLAN: Final = """
code = "w-1"
title = "A wave"
kind = "local"
bank = "Model Index 1"
seed = "1"
trials = 3
preregistration = "Nothing is compared."

[cost]
currency = "EUR"
ceiling = 100
prices = [{snapshot = "kind-2026-01-01", input = 1.5, output = 1}]

[[subjects]]
developer = "Lab"
family = "Kind"
snapshot = "kind-2026-01-01"
provider = "openai"
base_url = "https://example.org/v1"
access_tier = "none stated"
quantisation = "none stated"
first_seen_date = "2026-01-01"
tools = ["a", "b"]
sampling = {temperature = 0.5, max_tokens = 100}
limits = {in_flight = 3, attempt_seconds = 9.5}

[[subjects.conditions]]
name = "default"
system_message = "Be kind."
"""
SUBJECT: Final = PLAN[PLAN.index("developer") : PLAN.index("[[subjects.conditions]]")]
RATINGS: Final = "rater,unit,level,dimension,item,quote\nr1,u1,3,AWR,i1,I hear you\nr2,u1,4,AWR,i1,\nr1,u2,,EMP,i2,x\n"
TASKS: Final = json.dumps(
    [
        {
            "id": number,
            "data": {"item": "i1", "text": "I hear you."},
            "annotations": [
                {
                    "id": number * 10 + rater,
                    "completed_by": {"email": f"r{rater}@example.org", "id": rater},
                    "result": [
                        {"type": "rating", "from_name": "care", "value": {"rating": 1 + rater}},
                        {"type": "choices", "from_name": "warm", "value": {"choices": ["3"]}},
                        {"type": "number", "from_name": "n", "value": {"number": 4}},
                    ],
                }
                for rater in range(2)
            ],
        }
        for number in range(2)
    ]
)
LINE: Final = json.dumps(
    {"item": "AWR-1-A", "trial": 1, "text": "I hear you.", "finish_reason": "stop"}
)
REPLY: Final = json.dumps(
    {
        "choices": [{"message": {"content": "I hear you."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5},
        "system_fingerprint": "fp",
    }
)
MESSAGE: Final = json.dumps(
    {
        "content": [{"type": "text", "text": "I hear you."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 5},
        "model": "kind",
    }
)
QUOTES: Final = json.dumps([{"text": "I hear how heavy this is.", "quote": "how heavy this"}])

# What takes the place of a value, as the file's own language writes it.
VALUES: Final = (
    "null", "true", "[]", "{}", "-1", "0", "1e999", "-1e999", "NaN", "Infinity", "1e-999", "9" * 4000,
    "9" * 5000, "1.5", '""', '"\\u0000"', '"\\ud800"', '"\\udfff x"', '{"a": {"a": 1}}', "[[[[]]]]", "[1, \"a\", null]",
    '"' + "x" * 3000 + '"', "2026-01-01", "inf", "nan", "0x7fffffffffffffffffff", '"\\u202e"', "[" * 70 + "]" * 70,
    "{\"a\":" * 70 + "1" + "}" * 70, "18446744073709551616", '"١"', '"1_0"', "1979-05-27T07:32:00Z",
)  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """A way in for a file: what it reads, what it gives, and the errors in which it may refuse."""

    name: str
    base: Callable[[], bytes]
    read: Callable[[Path], Any]
    refusals: tuple[type[Exception], ...]


def _record() -> bytes:
    fields = {
        "number": 0,
        "kind": "opened",
        "at": "2026-01-01T00:00:00",
        "previous": "",
        "body": {"a": "b", "c": [1]},
    }
    return json.dumps(fields | {"hash": digest(fields)}).encode()


def _read_chain(path: Path) -> None:
    folder = path.parent / "chain"
    folder.mkdir(exist_ok=True)
    record = folder / "000000.json"
    record.write_bytes(path.read_bytes())
    chain = Chain(folder)
    list(chain.catch_up())
    chain.refuse_strangers()


def _read_line(path: Path) -> None:
    row = SimpleNamespace(status="pending", item="AWR-1-A", pk=1)
    _imported(_parsed(path.read_bytes()), {("AWR-1-A", 1): row}, 3)  # type: ignore[dict-item]


READERS: Final = (
    Reader("bank", lambda: json.dumps(bank_data(2)).encode(), lambda path: parse_bank(path.read_bytes()), (BankRefused,)),
    Reader("bank of pairs", lambda: json.dumps(pair_bank_data(1)).encode(), lambda path: parse_bank(path.read_bytes()), (BankRefused,)),
    Reader("plan", PLAN.encode, lambda path: parse_plan(path.read_bytes()), (PlanFileRefused,)),
    Reader("subject", SUBJECT.encode, lambda path: parse_subject(path.read_bytes()), (PlanFileRefused,)),
    Reader("ratings", RATINGS.encode, lambda path: read_ratings(path, (1, 2, 3, 4, 5)), (FileRefused,)),
    Reader("tasks", TASKS.encode, lambda path: read_label_studio(path, (1, 2, 3, 4, 5)), (FileRefused,)),
    Reader("line", LINE.encode, _read_line, (ValueError,)),
    Reader("record", _record, _read_chain, (Refused,)),
    Reader("reply", REPLY.encode, lambda path: read_reply(path.read_bytes()), ()),
    Reader("message", MESSAGE.encode, lambda path: read_messages_reply(path.read_bytes()), ()),
    Reader("quotes", QUOTES.encode, lambda path: _pairs(path.rename(path.with_suffix(".json")), None), (CommandError,)),
)  # fmt: skip


def spoiled(base: bytes, number: int, *, seed: str) -> Iterator[bytes]:
    """So many files that are nearly this one, the same for a seed."""
    for place in range(number):
        chance = Chance(f"{seed}|{place}")
        yield SPOILS[place % len(SPOILS)](base, chance)


def _value(base: bytes, chance: Chance) -> bytes:
    """Another value in the place of one."""
    text = base.decode()
    starts = [
        at
        for at in range(len(text))
        if text[at] in '"0123456789[{' and text[at - 1 : at] in (" ", ":", "[", ",", "=")
    ]
    if not starts:
        return base + chance.one(VALUES).encode()
    at = starts[chance.below(len(starts))]
    end = at + 1
    if text[at] == '"':
        while end < len(text) and text[end] != '"':
            end += 1
        end += 1
    elif text[at] in "[{":
        end = text.find("]" if text[at] == "[" else "}", at) + 1 or len(text)
    else:
        while end < len(text) and text[end] in "0123456789.":
            end += 1
    return (text[:at] + chance.one(VALUES) + text[end:]).encode("utf-8", "surrogatepass")


def _bytes(base: bytes, chance: Chance) -> bytes:
    """A few bytes changed, left out or put in."""
    raw = bytearray(base)
    for _ in range(1 + chance.below(4)):
        at = chance.below(len(raw) or 1)
        odd = bytes(
            (0, 0xFF, 0xC0, 0xED, 0xA0, 0x80, 0x0D, 0x0A, 0x1A, 0x22, 0x5C, 0x2C, 0x5B, 0x7B, 0x5D)
        )
        what = chance.below(3)
        if what == 0:
            raw[at : at + 1] = bytes([odd[chance.below(len(odd))]])
        elif what == 1:
            del raw[at : at + 1 + chance.below(9)]
        else:
            raw[at:at] = odd[chance.below(len(odd)) :][:2]
    return bytes(raw)


def _cut(base: bytes, chance: Chance) -> bytes:
    return base[: chance.below(len(base))]


def _coded(base: bytes, chance: Chance) -> bytes:
    """The same in another encoding, or with marks before it."""
    text = base.decode()
    return (
        text.encode("utf-16"), text.encode("utf-32-be"), text.encode("utf-16-le"),
        b"\xef\xbb\xbf" * (1 + chance.below(3)) + base, text.replace("I hear", "Jé\xe4r").encode("latin-1"),
        b"\x1f\x8b" + base, base.replace(b"\n", b"\r"), b"\x00" * 9 + base, base[:-1] + b"\xed\xa0\x80" + base[-1:],
        text.encode("utf-7") + bytes([0xFF]), b"PK\x03\x04" + base, base.replace(b" ", b"\xc2\xa0"),
    )[chance.below(12)]  # fmt: skip


def _twice(base: bytes, chance: Chance) -> bytes:
    """A part of it there twice, as keys may not be."""
    at, size = chance.below(len(base)), 1 + chance.below(200)
    return base[:at] + base[at : at + size] * (2 + chance.below(3)) + base[at + size :]


def _deep(base: bytes, chance: Chance) -> bytes:
    opening, closing = ((b"[", b"]"), (b'{"a":', b"}"), (b"[[", b""), (b'{"a":[', b"]}"))[
        chance.below(4)
    ]
    depth = (60, 100, 900, 5_000, 60_000)[chance.below(5)]
    at = chance.below(len(base))
    return base[:at] + opening * depth + b"1" + closing * depth + base[at:]


def _swapped(base: bytes, chance: Chance) -> bytes:
    lines = base.split(b"\n")
    at = chance.below(len(lines))
    lines[at : at + 1] = [lines[chance.below(len(lines))]] * chance.below(3)
    return b"\n".join(lines)


SPOILS: Final = (_value, _bytes, _value, _cut, _coded, _value, _twice, _deep, _value, _swapped)


def bombs(bundle: bytes) -> Iterator[tuple[str, bytes]]:
    """Archives that would unfold into more than they are, and ones that are none."""

    def packed(entries: Sequence[tuple[str, bytes]], how: int = zipfile.ZIP_STORED) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", how) as archive:
            for name, body in entries:
                archive.writestr(name, body)
        return out.getvalue()

    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        own = [(name, archive.read(name)) for name in archive.namelist()]
    zeros = b"\0" * 5_000_000
    yield "compressed", packed(own, zipfile.ZIP_DEFLATED)
    yield "a bomb", packed([*own, ("zeros", zeros)], zipfile.ZIP_DEFLATED)
    yield "a bomb of another kind", packed([("manifest.json", zeros)], zipfile.ZIP_LZMA)
    yield (
        "a bomb in a bomb",
        packed([("a.zip", packed([("b", zeros)], zipfile.ZIP_DEFLATED))], zipfile.ZIP_BZIP2),
    )
    yield "many files", packed([*own, *((f"f{number}", b"") for number in range(60))])
    yield "no files", packed([])
    yield "a path", packed([*own, ("../../etc/passwd", b"x")])
    yield "cut", bundle[: len(bundle) // 2]
    yield "half a directory", bundle[:-9]
    yield "bytes before", b"MZ" * 99 + bundle
    claims = bytearray(bundle)
    directory = claims.rindex(b"PK\x01\x02")
    claims[directory + 20 : directory + 28] = b"\xff\xff\xff\x7f" * 2
    yield "a size that is not so", bytes(claims)
    shut = bytearray(bundle)
    for head in (b"PK\x01\x02", b"PK\x03\x04"):
        at = shut.index(head) + (8 if head == b"PK\x01\x02" else 6)
        shut[at] |= 1
    yield "shut with a password", bytes(shut)
    odd = bytearray(bundle)
    odd[odd.index(b"PK\x01\x02") + 10] = 99
    yield "an unknown packing", bytes(odd)


def bundle_refusal(path: Path) -> str:
    """How a file is refused as a bundle; empty where it is one."""
    try:
        read_bundle(path)
        reproduce(path)
    except BadBundle as why:
        return str(why)
    return ""
