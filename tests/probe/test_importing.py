"""A finished probe run as a local wave for human raters, and what it says of itself."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from rating.models import Rating
from rating.probe.importing import import_run
from rating.probe.refusals import Refused
from runs.models import Bank, Response, RunState, Status, Subject, Wave, WaveKind
from runs.refusals import WaveRefused
from tests.probe.host import SUBJECT, Host, probe_of, rating, small_bank, small_probe

pytestmark = pytest.mark.django_db

NAMED = {"developer": "Maker", "family": "Kind", "snapshot": ""}


def _load(host, run=""):
    return import_run(host.probe.shelf, host.probe.folder, run, **NAMED)


@pytest.fixture
def host(tmp_path):
    return Host(small_probe(tmp_path))


def test_a_finished_run_becomes_a_local_wave_with_every_reply(host):
    host.finished(host.start())

    wave = _load(host).wave

    replies = Response.objects.of_wave(wave)
    assert wave.kind == WaveKind.LOCAL
    assert replies.filter(status=Status.COMPLETED).count() == 24
    assert not replies.pending()
    assert Bank.objects.get().content_hash == host.probe.shelf.bank.content_hash


def test_the_wave_says_what_it_is(host):
    run = host.start()
    host.finished(run)

    wave = _load(host).wave

    assert "not official, not blinded" in wave.title
    for said in (
        "Not pre-registered",
        run,
        "(cross), not blinded",
        "Nobody checked these names",
        "Official: no. Comparability: none.",
        "Contamination probes, as the host put them: ",
    ):
        assert said in wave.preregistration
    subject = Subject.objects.get()
    assert (subject.developer, subject.family, subject.snapshot) == ("Maker", "Kind", SUBJECT)
    assert "not blinded" in subject.access_tier


def test_the_levels_of_models_do_not_come_over(host):
    host.finished(host.start())

    _load(host)

    assert not Rating.objects.exists()


def test_each_reply_of_a_panel_comes_once_and_trials_stay_apart(host):
    run = host.start(judgeConfiguration="panel")
    for item in host.items_of(run):
        text = f"{rating('x')['response_text']} {item['id']} {item['trial_index']}"
        two = [rating(item["id"], judge_label=j, response_text=text) for j in ("one", "two")]
        host.ask("record_item_rating", run_id=run, ratings=two)
    host.answer_probes(run)
    host.ask("finish_scored_run", run_id=run)

    wave = _load(host).wave

    rows = Response.objects.of_wave(wave).select_related("item")
    assert len(rows) == 24
    assert all(row.text.endswith(f"{row.item.code} {row.trial}") for row in rows)


def test_items_that_were_not_asked_stay_unasked_and_it_is_said(host):
    host.finished(host.start(dimensions=["AWR", "EMP"]))

    done = _load(host)

    assert Response.objects.of_wave(done.wave).filter(status=Status.COMPLETED).count() == 6
    assert done.wave.runs.get().state == RunState.CANCELLED
    assert any("18 trials of other items were not asked" in line for line in done.told)


def test_sensitive_items_are_left_out_and_it_is_said(tmp_path):
    data = small_bank()
    data["items"][0] |= {"sensitivity": "high", "topic": "loss"}
    host = Host(probe_of(data, tmp_path))
    host.finished(host.start(include_sensitive=True))

    done = _load(host)

    assert Response.objects.of_wave(done.wave).count() == 21
    assert any("1 sensitive items were left out" in line for line in done.told)


def test_a_run_that_is_not_finished_is_not_loaded(host):
    run = host.start()
    host.rate_all(run)

    with pytest.raises(Refused, match=r"No run in .* is finished"):
        _load(host)
    with pytest.raises(Refused, match="is not finished"):
        _load(host, run)
    assert not Wave.objects.exists()


def test_an_edited_run_is_not_loaded(host):
    run = host.start()
    host.finished(run)
    path = host.probe.folder / "runs" / run / "000003.json"
    data = json.loads(path.read_text())
    data["body"]["rows"][0]["response_text"] += " I never said this."
    path.write_text(json.dumps(data))

    with pytest.raises(Refused, match="changed after it was written"):
        _load(host)
    assert not Wave.objects.exists()


def test_a_run_with_a_stranger_among_its_records_is_not_loaded(host):
    run = host.start()
    host.finished(run)
    (host.probe.folder / "runs" / run / "000099.json").write_text("{}")

    with pytest.raises(Refused, match="is no record"):
        _load(host)


def test_a_run_is_loaded_once(host):
    host.finished(host.start())
    _load(host)

    with pytest.raises(WaveRefused, match="There is a wave"):
        _load(host)


def test_among_several_runs_one_must_be_named(host):
    first, second = host.start(), host.start()
    host.finished(first)
    host.finished(second)

    with pytest.raises(Refused, match="name one with --run"):
        _load(host)
    assert _load(host, second).wave.seed == second


def test_what_cannot_be_registered_is_refused_whole(tmp_path):
    host = Host(small_probe(tmp_path))
    host.finished(host.start(subject_label="kind-latest", temperature=1.0))

    with pytest.raises(WaveRefused, match="alias that moves"):
        _load(host)
    assert not Wave.objects.exists()
    assert not Bank.objects.exists()


def test_the_command_loads_a_run_and_says_so(host, tmp_path):
    host.finished(host.start())
    bank = tmp_path / "bank.json"
    bank.write_text(json.dumps(host.probe.shelf.bank.data))
    out = io.StringIO()

    call_command(
        "probe", "import", str(tmp_path), "--bank", str(bank),
        "--developer", "Maker", "--family", "Kind", stdout=out,
    )  # fmt: skip

    assert "24 replies for two human raters each: local, not official" in out.getvalue()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["import", "{folder}", "--developer", "a", "--family", "b"], "is no folder of the probe"),
        (["--bank", "{folder}/none.json", "--folder", "{folder}"], "none.json cannot be read"),
        ([], "probe --folder FOLDER"),
    ],
)
def test_the_command_says_what_is_wrong(tmp_path, arguments, says):
    given = [one.format(folder=tmp_path) for one in arguments]

    with pytest.raises(CommandError, match=says):
        call_command("probe", *given)
