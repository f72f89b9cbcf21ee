"""A client that is not ours drives the probe in a process of its own, from the first call to the last.

The client is the official package's, over standard input and output. The process has a database
that cannot be reached and no network, and it must need neither.
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.factories import WORDS
from tests.probe.host import JUDGE, QUOTE, REPLY, SUBJECT, answers, small_bank
from tests.probe.test_scorecard import WORKED

pytestmark = pytest.mark.proof

ROOT = Path(__file__).parents[2]
SECONDS = 120.0
ORDER = list(WORKED["levels"])


@pytest.fixture
def bank(tmp_path):
    path = tmp_path / "bank.json"
    path.write_text(json.dumps(small_bank(24)))
    return path


def _server(folder, bank, **env):
    return StdioServerParameters(
        command=sys.executable,
        args=[str(ROOT / "manage.py"), "probe", "--folder", str(folder), "--bank", str(bank)],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(sys.path),
            "SECRET_KEY": "of this test",
            # Nothing listens there: one query, and the process would fail.
            "DATABASE_URL": "postgres://nobody@127.0.0.1:1/nothing",
            "CELERY_BROKER_URL": "redis://127.0.0.1:1/0",
            "VAR_DIR": str(folder.parent / "var"),
            **env,
        },
    )


def _drive(folder, bank, work):
    async def run():
        async with Client(_server(folder, bank), read_timeout_seconds=SECONDS) as client:
            return await work(Caller(client))

    return asyncio.run(run())


class Caller:
    def __init__(self, client):
        self.client = client

    async def ask(self, tool, **arguments):
        found = await self.client.call_tool(tool, arguments)
        assert not found.is_error, found.content[0].text
        return found.structured_content

    async def refused(self, tool, **arguments):
        found = await self.client.call_tool(tool, arguments)
        assert found.is_error, found.content[0].text
        return found.content[0].text


def _rating(item, level, **changes):
    return {
        "item_id": item,
        "response_text": REPLY,
        "rating_1_5": level,
        "anchor_matched": f"{level}.0 {WORDS[level - 1]}",
        "evidence_quote": QUOTE,
        **changes,
    }


def test_a_whole_scored_run_gives_the_worked_card(tmp_path, bank):
    folder = tmp_path / "mine"

    async def work(host):
        tools = [tool.name for tool in (await host.client.list_tools()).tools]
        items = (await host.ask("list_probe_items"))["items"]
        levels = {}
        for code in ORDER:
            own = sorted(item["id"] for item in items if item["dimension"] == code)
            levels |= dict(zip(own, WORKED["levels"][code], strict=True))
        started = await host.ask("start_scored_run", subject_label=SUBJECT, judge_label=JUDGE)
        run = started["run_id"]
        while "status" not in (item := await host.ask("next_item", run_id=run)):
            anchors = (await host.ask("get_anchors", item_id=item["id"]))["anchors"]
            assert len(anchors) == 5
            level = levels[item["id"]][item["trial_index"] - 1]
            await host.ask("record_item_rating", run_id=run, **_rating(item["id"], level))
        asked = await host.ask("run_exposure_probe", run_id=run)
        await host.ask("run_exposure_probe", run_id=run, **answers(asked))
        status = await host.ask("run_status", run_id=run)
        return tools, status, await host.ask("finish_scored_run", run_id=run)

    tools, status, card = _drive(folder, bank, work)

    assert len(tools) == 12
    assert status["ready_to_finish"]
    assert card["composite"] == WORKED["composite"]
    assert card["dimensions"] == WORKED["dimensions"]
    assert card["official"] is False
    # The folder, the bank, and nothing else: no database, no key, no cache.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bank.json", "mine"]


def test_a_judge_session_from_opening_to_summary(tmp_path, bank):
    async def work(host):
        opened = await host.ask(
            "open_judge_session", subject_label=SUBJECT, judge_model_label=JUDGE
        )
        session = opened["session_id"]
        for level in (2, 4):
            await host.ask(
                "record_item_estimate",
                session_id=session,
                item_id="AWR-1-A",
                response_text=REPLY,
                rating_1_5=level,
                rationale="It sees how tired the person is.",
            )
        return await host.ask("summarise_judge_session", session_id=session)

    found = _drive(tmp_path / "mine", bank, work)

    assert [(one["item_id"], one["level"]) for one in found["estimates"]] == [("AWR-1-A", 4)]


def test_each_refusal_reaches_the_client_as_a_sentence(tmp_path, bank):
    async def work(host):
        run = (await host.ask("start_scored_run", subject_label=SUBJECT, judge_label=JUDGE))[
            "run_id"
        ]
        item = (await host.ask("next_item", run_id=run))["id"]
        rate = {"run_id": run}
        said = {
            "no item": await host.refused("get_anchors", item_id="NO-1-A"),
            "trials": await host.refused(
                "start_scored_run", subject_label="a", judge_label="b", trials=2
            ),
            "dimension": await host.refused("list_probe_items", dimension="XYZ"),
            "would rate itself": await host.refused(
                "start_scored_run", subject_label="a", judge_label="a"
            ),
            "not planned": await host.refused(
                "record_item_rating", **rate, **_rating("AWR-9-A", 4)
            ),
            "not the label": await host.refused(
                "record_item_rating",
                **rate,
                **_rating(item, 4, anchor_matched="not 4.0 Established"),
            ),
            "too short": await host.refused(
                "record_item_rating", **rate, **_rating(item, 4, evidence_quote="heavy")
            ),
            "not in the response": await host.refused(
                "record_item_rating", **rate, **_rating(item, 4, evidence_quote="never said at all")
            ),
            "no integer": await host.refused(
                "record_item_rating", **rate, **_rating(item, 4, rating_1_5=4.5)
            ),
            "not both": await host.refused(
                "record_item_rating", **rate, ratings=[_rating(item, 4)], **_rating(item, 4)
            ),
            "No question was issued": await host.refused(
                "run_exposure_probe", run_id=run, recall_attempts=[]
            ),
            "ratings are missing": await host.refused("finish_scored_run", run_id=run),
            "There is no run": await host.refused("run_status", run_id="run-" + "0" * 32),
            "no field": await host.refused("next_item", run_id=run, official=True),
            "There is no tool": await host.refused("publish"),
        }
        return said, await host.ask("run_status", run_id=run)

    said, status = _drive(tmp_path / "mine", bank, work)

    assert not [(part, text) for part, text in said.items() if part not in text]
    assert status["recorded"] == 0


def test_a_run_survives_its_server(tmp_path, bank):
    folder = tmp_path / "mine"

    async def begin(host):
        run = (await host.ask("start_scored_run", subject_label=SUBJECT, judge_label=JUDGE))[
            "run_id"
        ]
        item = (await host.ask("next_item", run_id=run))["id"]
        await host.ask("record_item_rating", run_id=run, **_rating(item, 4))
        return run

    run = _drive(folder, bank, begin)
    status = _drive(folder, bank, lambda host: host.ask("run_status", run_id=run))

    assert status["recorded"] == 1


def test_what_is_no_message_ends_nothing(tmp_path, bank):
    """Lines that a broken host might send, and then a sound one."""
    server = _server(tmp_path / "mine", bank)
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "a host", "version": "1"},
        },
    }
    lines = ["", "{", "[]", "null", "\x00", '{"jsonrpc": "2.0"}', json.dumps(hello)]

    done = subprocess.run(
        [server.command, *server.args],
        input="\n".join(lines) + "\n",
        env=server.env,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert any(one.get("id") == 1 and "result" in one for one in said)
    assert done.returncode == 0


@pytest.mark.parametrize(
    "act",
    [
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "import socket; socket.getaddrinfo('localhost', 80)",
        "import sqlite3; sqlite3.connect(':memory:')",
        "import subprocess; subprocess.run(['true'])",
    ],
)
def test_the_process_that_serves_reaches_nothing_outside(act):
    done = subprocess.run(
        [sys.executable, "-c", f"from rating.probe.server import shut_in; shut_in(); {act}"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "The probe reaches nothing outside" in done.stderr
