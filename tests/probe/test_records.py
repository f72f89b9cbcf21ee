"""What is on disk belongs to its owner: it may be edited, copied, half written or written at once."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from rating.probe import chain
from rating.probe.chain import Chain, Overtaken
from rating.probe.folder import open_folder
from rating.probe.refusals import Refused
from runs.canonical import digest
from tests.probe.host import BEGAN, Host, rating, small_probe


@pytest.fixture
def host(tmp_path):
    return Host(small_probe(tmp_path, 4))


@pytest.fixture
def run(host):
    """A run that lacks nothing but its end."""
    run = host.start()
    host.rate_all(run)
    host.answer_probes(run)
    return run


@pytest.fixture
def records(host, run):
    return host.probe.folder / "runs" / run


def _edit(path, change, *, seal=False):
    """Change a record as its owner might; ``seal`` gives it a hash that fits again."""
    data = json.loads(path.read_text())
    change(data)
    if seal:
        data["hash"] = digest({key: value for key, value in data.items() if key != "hash"})
    path.write_text(json.dumps(data))


def _kind(records, kind):
    return next(
        path for path in sorted(records.iterdir()) if json.loads(path.read_text())["kind"] == kind
    )


def _level(data):
    data["body"]["rows"][0] |= {"level": 5, "anchor_matched": "5.0 Exemplary"}


def test_an_edited_level_is_found_out_at_the_end(host, run, records):
    _edit(_kind(records, "ratings"), _level)

    assert "was changed after it was written" in host.refused("finish_scored_run", run_id=run)


def test_an_edit_with_a_hash_of_its_own_breaks_the_chain(host, run, records):
    _edit(_kind(records, "ratings"), _level, seal=True)

    assert "does not follow the record before it" in host.refused("finish_scored_run", run_id=run)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"level": 9, "anchor_matched": "5.0 Exemplary"}, "too large"),
        ({"level": 2}, "not the label of level 2"),
        ({"evidence_quote": "words that nobody said"}, "not in the response"),
        ({"start": 0}, "do not fit"),
        ({"trial": 7}, "do not fit"),
        ({"judge_label": "somebody"}, "one judge"),
        ({"item_id": "INT-1-A"}, "not planned"),
        ({"extra": 1}, "other fields"),
        ({"response_text": 7}, "is no string"),
    ],
)
def test_a_row_that_never_was_a_rating_is_refused_even_where_the_chain_fits(
    host, run, records, change, says
):
    """The last ratings, with every record after them written anew to fit."""
    paths = sorted(records.iterdir())
    start = max(n for n, path in enumerate(paths) if '"ratings"' in path.read_text())
    previous = None
    for number, path in enumerate(paths[start:]):
        data = json.loads(path.read_text())
        if number == 0:
            data["body"]["rows"][0] |= change
        else:
            data["previous"] = previous
        data["hash"] = previous = digest({k: v for k, v in data.items() if k != "hash"})
        path.write_text(json.dumps(data))

    assert says in host.refused("finish_scored_run", run_id=run)


@pytest.mark.parametrize(
    ("kind", "change", "says"),
    [
        ("plan", lambda data: data["body"].update(trials=2), "changed after"),
        ("challenge", lambda data: data["body"].update(questions="x"), "changed after"),
        ("answers", lambda data: data["body"]["choices"].pop(), "changed after"),
    ],
)
def test_plan_questions_and_answers_are_held_to_the_chain_too(
    host, run, records, kind, change, says
):
    _edit(_kind(records, kind), change)

    assert says in host.refused("finish_scored_run", run_id=run)


def test_a_probe_answer_taken_out_is_not_a_clean_one(host, run, records):
    """The answers are the last record, so that their chain can be made to fit."""
    _edit(_kind(records, "answers"), lambda data: data["body"]["recalls"].pop(), seal=True)

    assert "have no answer" in host.refused("finish_scored_run", run_id=run)


def test_a_record_that_is_missing_or_strange_is_named(host, run, records):
    paths = sorted(records.iterdir())
    paths[5].unlink()
    gap = host.refused("finish_scored_run", run_id=run)
    for path in paths[6:]:
        path.unlink()
    (records / "notes.txt").write_text("mine")
    strange = host.refused("finish_scored_run", run_id=run)

    assert "000006.json is no record" in gap
    assert "notes.txt is no record" in strange


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"a": 1, "a": 2}',
        b"[" * 100_000,
        b'{"number": 3, "kind": 7, "at": 7, "previous": 7, "body": 7, "hash": 7}',
        b'{"number": 3, "kind": "", "at": "", "previous": "", "body": {"\\ud800": 1}, "hash": ""}',
    ],
)
def test_what_is_no_record_is_refused_without_harm(host, run, records, content):
    sorted(records.iterdir())[3].write_bytes(content)

    assert "cannot be trusted" in host.refused("finish_scored_run", run_id=run)


def test_a_link_is_no_record(host, run, records, tmp_path):
    path = sorted(records.iterdir())[3]
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(elsewhere)

    assert "is not a plain file" in host.refused("finish_scored_run", run_id=run)


def test_a_write_that_was_cut_off_counts_for_nothing_and_harms_nothing(host, run, records):
    (records / ".writing-abc").write_bytes(b'{"number": 9')

    host.ask("finish_scored_run", run_id=run)


def test_a_record_is_whole_or_not_there(tmp_path, monkeypatch):
    own = Chain(tmp_path)
    monkeypatch.setattr(chain.os, "link", _fail)

    with pytest.raises(Refused, match="cannot make a file in one step"):
        own.append("ratings", {}, BEGAN)

    assert not list(tmp_path.iterdir())
    assert own.length == 0


def _fail(*_):
    raise OSError(1, "not permitted")


def test_two_writers_never_take_one_number(tmp_path):
    one, other = Chain(tmp_path), Chain(tmp_path)
    one.append("ratings", {"by": "one"}, BEGAN)

    with pytest.raises(Overtaken):
        other.append("ratings", {"by": "other"}, BEGAN)

    assert [record.body for record in other.catch_up()] == [{"by": "one"}]


def test_two_servers_on_one_folder_never_overwrite_a_trial(host, tmp_path):
    run = host.start()
    other = Host(small_probe(tmp_path, 4))
    item = host.ask("next_item", run_id=run)["id"]
    other.ask("run_status", run_id=run)

    kept = [
        writer.ask("record_item_rating", run_id=run, **rating(item))["recorded"][0]["trial_index"]
        for writer in (host, other, host)
    ]

    assert kept == [1, 2, 3]
    assert "has all its 3 trials" in other.refused("record_item_rating", run_id=run, **rating(item))


def test_four_servers_at_once_record_exactly_what_was_planned(tmp_path):
    hosts = [Host(small_probe(tmp_path, 4)) for _ in range(4)]
    run = hosts[0].start()
    items = [one["item_id"] for one in hosts[0].ask("run_status", run_id=run)["items"]]

    def work(host):
        return sum(
            not host.probe.call("record_item_rating", {"run_id": run} | rating(item)).refused
            for _ in range(3)
            for item in items
        )

    with ThreadPoolExecutor(4) as pool:
        kept = sum(pool.map(work, hosts))

    assert kept == 12
    assert [host.ask("run_status", run_id=run)["remaining"] for host in hosts] == [0] * 4
    hosts[1].answer_probes(run)
    hosts[2].ask("finish_scored_run", run_id=run)


def test_nothing_is_written_outside_the_folder(tmp_path):
    folder = tmp_path / "mine"
    host = Host(small_probe(folder, 4))
    host.finished(host.start())

    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert sorted(path.name for path in folder.iterdir()) == ["runs", "scorecards", "sessions"]


def test_what_is_recorded_is_for_its_owner_alone(host, run, records):
    modes = {path.stat().st_mode & 0o077 for path in (records, *records.iterdir())}

    assert modes == {0}


def test_a_folder_within_a_repository_is_refused(tmp_path):
    (tmp_path / ".git").mkdir()

    with pytest.raises(Refused, match="Git working tree"):
        open_folder(tmp_path / "a" / "b")


def test_a_folder_that_leads_elsewhere_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "runs").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(Refused, match="is a link"):
        open_folder(tmp_path / "mine")


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(Refused, match="Choose another folder"):
        open_folder(tmp_path / "file")
