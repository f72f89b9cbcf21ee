"""What holds of every record, every sequence of ratings and every result, whatever they are."""

import copy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rating.probe.guard import HeldBack
from rating.probe.rated import JUDGES, check_row, fold, trial_for
from tests.probe.host import Host, rating, small_probe

SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    return Host(small_probe(tmp_path_factory.mktemp("probe"), 2))


@pytest.fixture(scope="module")
def run(host):
    run = host.start()
    host.finished(run)
    return run


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(data=st.data())
def test_no_byte_of_a_record_can_change_unseen(host, run, data):
    paths = sorted((host.probe.folder / "runs" / run).iterdir())
    path = data.draw(st.sampled_from(paths))
    sound = path.read_bytes()
    place = data.draw(st.integers(0, len(sound) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != sound[place]))
    card = host.ask("finish_scored_run", run_id=run)

    path.write_bytes(sound[:place] + bytes([other]) + sound[place + 1 :])
    try:
        answer = host.probe.call("finish_scored_run", {"run_id": run})
    finally:
        path.write_bytes(sound)

    # White space between the fields is no part of a record.
    assert answer.refused or host.ask("finish_scored_run", run_id=run) == card
    assert answer.refused or (sound[place : place + 1].isspace() and chr(other).isspace())


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(("x", "y"))), max_size=14),
    st.sampled_from(("cross", "panel")),
)
def test_trials_are_numbered_without_a_gap_and_no_judge_rates_one_twice(host, given, configuration):
    item = host.probe.shelf.items["AWR-1-A"]
    rows = []
    for judge, word in given:
        reply = f"That is heavy to carry alone, {word}."
        trial = trial_for(rows, reply, judge, configuration)
        rows.append(check_row(item, rating(item.code, response_text=reply), trial, judge))

    trials = {}
    for row in rows:
        trials.setdefault(row.trial, []).append(row)
    assert sorted(trials) == list(range(1, len(trials) + 1))
    for own in trials.values():
        assert len(own) <= JUDGES[configuration]
        assert len({fold(row.judge_label) for row in own}) == len(own)
        assert len({row.response_text for row in own}) == 1


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(data=st.data())
def test_nothing_official_leaves_from_any_place_of_a_card(host, run, data):
    card = copy.deepcopy(host.ask("finish_scored_run", run_id=run))
    place = data.draw(st.sampled_from(list(_objects(card))))
    name = data.draw(st.sampled_from(("official", "Rank", "leaderboard", "comparability")))
    place[name] = data.draw(st.sampled_from((True, 1, "yes", "full")))

    with pytest.raises(HeldBack):
        host.probe.guard.release("finish_scored_run", card, sensitive_asked=False)


def _objects(value):
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)
