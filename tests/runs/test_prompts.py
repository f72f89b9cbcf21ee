import pytest

from runs.models import Instrument, Item, Wave
from runs.prompts import message_hash, messages_for
from runs.tasks import question_of
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
