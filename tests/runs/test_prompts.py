import json
import re
from itertools import count

import pytest

from runs import tasks
from runs.bank import check_bank
from runs.models import Bank, Instrument, Item, Response, Wave
from runs.prompts import message_hash, messages_for, without_sent
from runs.tasks import question_of
from tests.factories import bank_data, item_data, pair_bank_data
from tests.runs.factories import ResponseFactory, RunFactory, SubjectFactory


def test_the_last_message_is_exactly_the_prompt():
    prompt = "  I lost my job.\n\nWhat now? \u2764 "
    assert messages_for("", [], prompt) == [{"role": "user", "content": prompt}]


def test_a_system_message_comes_first_and_only_where_there_is_one():
    assert messages_for("Be brief.", [], "Hello")[0] == {"role": "system", "content": "Be brief."}
    assert len(messages_for("", [], "Hello")) == 1


def test_earlier_turns_stand_between_in_their_order():
    turns = [{"role": "user", "content": "One"}, {"role": "assistant", "content": "Two"}]

    messages = messages_for("", turns, "Three")

    assert [message["content"] for message in messages] == ["One", "Two", "Three"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]


def test_the_hash_is_of_the_whole_conversation():
    one = message_hash(messages_for("", [], "Hello"))
    assert one == message_hash(messages_for("", [], "Hello"))
    assert one != message_hash(messages_for("Be brief.", [], "Hello"))
    assert len(one) == 64


@pytest.mark.django_db
def test_a_subject_is_sent_nothing_but_prompt_turns_and_system_message():
    run = RunFactory(
        system_message="SYSTEM",
        condition="MARK-condition",
        subject=SubjectFactory(developer="MARK-developer", family="MARK-family"),
        wave__title="MARK-title",
        wave__preregistration="MARK-preregistration",
        wave__seed="MARK-seed",
        wave__bank__instrument=Instrument.MODEL_INDEX,
        wave__bank__meta={"note": "MARK-meta"},
        wave__bank__items=0,
        wave__bank__freeze=False,
    )
    item = Item.objects.create(
        bank=run.wave.bank,
        code="MARK-code",
        position=0,
        dimension="MARK-dim",
        subdimension="MARK-sub",
        construct="MARK-construct",
        prompt="PROMPT",
        turns=[
            {"role": "user", "content": "TURN-1"},
            {"role": "assistant", "content": "TURN-2"},
        ],
        pool="MARK-pool",
        topic="MARK-topic",
        details={"note": "MARK-details"},
        content_hash="MARK-hash",
    )
    item.anchors.create(level=1, label="MARK-label", description="MARK-anchor", note="MARK-note")
    response = ResponseFactory(run=run, item=item, text="MARK-reply")

    sent = question_of(run, response).messages

    assert Wave.objects.count() == 1
    assert [message["content"] for message in sent] == ["SYSTEM", "TURN-1", "TURN-2", "PROMPT"]
    assert [set(message) for message in sent] == [{"role", "content"}] * 4
    assert "MARK" not in str(sent)


# What a field may hold is listed in the format, so that no marker fits in.
LISTED = {
    *("instrument", "dimension", "indicator", "sensitivity", "validationStatus", "level", "role"),
    *("language", "modelFacingFields"),
}


def marked(value, key="", numbers=None):
    """The same JSON value with a marker of its own in every text that no list prescribes."""
    numbers = numbers if numbers is not None else count()
    if isinstance(value, dict):
        return {
            name: inner if name in LISTED else marked(inner, name, numbers)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [marked(inner, key, numbers) for inner in value]
    return f"MARK{next(numbers)}x" if isinstance(value, str) else value


def full_item(**changes):
    """An item that fills every field of the format, and two of somebody else's."""
    return {
        **item_data(0),
        "prompt": "a prompt",
        "topic": "a topic",
        "language": "en",
        "pool": "a pool",
        "exposureStatus": "kept",
        "sensitivity": "standard",
        "validationStatus": "unvalidated",
        "author": "somebody",
        "reviewers": ["one", "another"],
        "conflicts": "none",
        "dates": {"authored": "2026-11-30", "created": "x", "lastModified": "y"},
        "reviewRequired": "all",
        "retirementReason": "no",
        "supersedes": {"prompt": "earlier", "priorBankVersion": "t0", "validationStatus": "draft"},
        "promptIntegrity": {
            "hasUnfilledPlaceholder": False,
            "note": "n",
            "placeholderSpans": ["s"],
        },
        "taskFamily": "f",
        "userContext": {"place": ["p"]},
        "expectedBehaviors": ["b"],
        "prohibitedFailures": ["p"],
        "criticalHarmRules": ["c"],
        "culturalAccessibilityNotes": "n",
        "evidenceSources": [{"source": "s"}],
        "sourceOnlyFields": {
            "title": "t",
            "whatToObserve": "w",
            "evaluatorNotes": "e",
            "answerKey": "k",
            "symmetryCheck": "s",
        },
        "unheardOf": {"deep": [{"deeper": "d"}]},
        **changes,
    }


def full_meta(**changes):
    return {
        "name": "n",
        "bankVersion": "v",
        "fieldSeparationPolicy": {"modelFacingFields": ["prompt"], "rule": "r"},
        "note": "n",
        "changelog": [{"version": "v", "summary": "s"}],
        **changes,
    }


def asked(server, data, *, also=()):
    """All that leaves for the items of a bank: headers and bodies, in the order of asking."""
    bank, _ = Bank.objects.import_file(check_bank(data))
    run = RunFactory(
        wave__bank=bank,
        wave__trials=1,
        wave__title="MARKwave",
        wave__preregistration="MARKpreregistration",
        condition="MARKcondition",
        subject=SubjectFactory(provider="openai", base_url=server.base_url, family="MARKfamily"),
        rows=True,
    )
    for code in also:
        item = bank.items.get(code=code)
        Response.objects.create(run=run, item=item, trial=1, position=99, seed=1)
    server.answers = [(200, {}, b'{"choices": [{"message": {"content": "I hear you."}}]}')]

    tasks.fetch_chunk(run_id=run.pk)

    assert run.responses.count_by_status()["completed"] == run.responses.count()
    return server.seen


@pytest.mark.django_db
def test_prompt_and_turns_leave_and_no_other_field_of_an_item_or_its_bank(server):
    data = marked({"meta": full_meta(), "items": [full_item()]})
    data["items"][0] |= {
        "prompt": "PROMPT",
        "turns": [
            {"role": "user", "content": "TURN-1", "note": "MARKturn"},
            {"role": "assistant", "content": "TURN-2", "note": "MARKturn"},
        ],
    }
    marks = len(re.findall("MARK", json.dumps(data)))

    seen = asked(server, data)

    assert marks > 40
    assert "MARK" not in str(seen)
    assert [body["messages"] for _, body in seen] == [
        [
            {"role": "user", "content": "TURN-1"},
            {"role": "assistant", "content": "TURN-2"},
            {"role": "user", "content": "PROMPT"},
        ]
    ]


@pytest.mark.django_db
def test_each_arm_of_a_pair_leaves_alone_and_without_rubric_chamber_or_pair(server):
    data = pair_bank_data()
    data["meta"] |= full_meta(chambers=[{"code": "1", "name": "n", "fail": "f", "pass": "p"}])
    data["pairs"][0] |= {"title": "t", "need": "n", "axisNote": "a", "symmetryCheck": "s"}
    codes = [row["id"] for row in data["items"]]
    data["items"] = [
        {name: field for name, field in full_item(id=code).items() if name != "anchors"}
        for code in codes
    ]
    data = marked(data)
    chamber = data["meta"]["chambers"][0]["code"]
    for row, code, prompt in zip(data["items"], codes, ("ARM A", "ARM B"), strict=True):
        row |= {"id": code, "prompt": prompt}
    data["pairs"][0] |= {"chamber": chamber, "a": codes[0], "b": codes[1]}

    seen = asked(server, data)

    assert "MARK" not in str(seen)
    assert not any(code in str(seen) for code in codes)
    assert sorted(body["messages"][0]["content"] for _, body in seen) == ["ARM A", "ARM B"]
    assert all(len(body["messages"]) == 1 for _, body in seen)


@pytest.mark.django_db
def test_of_an_item_with_variants_its_prompt_leaves_and_no_other_variant(server):
    variants = [{"variantId": v, "label": v, "prompt": f"as {v} asks"} for v in "ab"]
    data = marked({"meta": full_meta(), "items": [full_item(variants=variants)]})
    data["items"][0] |= {"id": "AWR-1-A", "prompt": "PROMPT"}

    seen = asked(server, data, also=["AWR-1-A"])

    assert "MARK" not in str(seen)
    assert [body["messages"] for _, body in seen] == [[{"role": "user", "content": "PROMPT"}]]


@pytest.mark.django_db
def test_what_a_provider_repeats_of_a_prompt_is_not_kept_and_not_logged(server, caplog):
    prompt = "My mother has not called me since the day that I moved out."
    data = bank_data(1)
    data["items"][0]["prompt"] = prompt
    bank, _ = Bank.objects.import_file(check_bank(data))
    subject = SubjectFactory(provider="openai", base_url=server.base_url)
    run = RunFactory(wave__bank=bank, wave__trials=1, subject=subject, rows=True)
    said = {"error": {"message": f"Not allowed: {prompt} Write to us."}}
    server.answers = [(400, {}, json.dumps(said).encode())]

    tasks.fetch_chunk(run_id=run.pk)

    run.refresh_from_db()
    kept = [run.stop_reason, str(run.responses.get().attempts), caplog.text]
    assert all("Not allowed: …" in words for words in kept)
    assert not any("mother" in words for words in kept)


def test_only_what_was_sent_is_cut_from_the_words_of_a_provider():
    sent = messages_for("", [], 'She said "I am so tired of all this" and hung up.\nWhat now?')

    assert without_sent("400: the model is unknown.", sent) == "400: the model is unknown."
    echoed = json.dumps(sent[0]["content"])
    assert without_sent(f"400: near {echoed}: too long.", sent) == '400: near "…": too long.'
    assert without_sent("400: no.", messages_for("", [], "no.")) == "400: no."
