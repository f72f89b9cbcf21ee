"""The tools over MCP, with the official package's own client."""

import asyncio
import json

import pytest
from mcp import Client

from rating.probe.schemas import ARGUMENTS
from rating.probe.server import OUTSIDE, server_of
from tests.probe.host import small_probe


@pytest.fixture
def probe(tmp_path):
    return small_probe(tmp_path)


def _with_client(probe, work):
    async def run():
        async with Client(server_of(probe)) as client:
            return await work(client)

    return asyncio.run(run())


def test_a_client_lists_the_twelve_tools_with_closed_schemas(probe):
    tools = _with_client(probe, lambda client: client.list_tools()).tools

    assert [tool.name for tool in tools] == list(ARGUMENTS)
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools)
    assert all(tool.output_schema and tool.description for tool in tools)
    assert not any(tool.annotations.destructive_hint for tool in tools)
    assert not any(tool.annotations.open_world_hint for tool in tools)


def test_a_result_comes_as_text_and_as_structure(probe):
    found = _with_client(probe, lambda client: client.call_tool("list_probe_items", {}))

    assert not found.is_error
    assert json.loads(found.content[0].text) == found.structured_content


def test_a_refusal_comes_as_an_error_that_a_model_can_read(probe):
    found = _with_client(probe, lambda client: client.call_tool("get_anchors", {"item_id": "X"}))

    assert found.is_error
    assert "There is no item 'X'" in found.content[0].text
    assert found.structured_content is None


def test_a_fault_of_ours_says_nothing_of_what_was_sent(probe, monkeypatch):
    def fail(*_):
        raise RuntimeError("the words of a reply")

    monkeypatch.setattr(probe, "call", fail)

    found = _with_client(probe, lambda client: client.call_tool("run_status", {"run_id": "x"}))

    assert found.is_error
    assert "words of a reply" not in found.content[0].text


def test_the_server_gives_up_network_database_and_programs():
    assert {"socket.connect", "sqlite3.connect", "subprocess.Popen"} <= OUTSIDE
