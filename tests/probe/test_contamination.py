"""Both probes for contamination: neither can be skipped, and no silence counts as clean."""

import json

import pytest

from tests.probe.host import PROMPT, Host, answers, shipped_probe, small_probe


@pytest.fixture
def host(tmp_path):
    return Host(small_probe(tmp_path, 16))


@pytest.fixture
def run(host):
    return host.start()


def test_three_items_are_asked_from_memory_and_six_by_choice(host, run):
    asked = host.ask("run_exposure_probe", run_id=run)

    assert asked["phase"] == "challenge_issued"
    assert len({one["item_id"] for one in asked["recall"]}) == 3
    assert [one["question_id"] for one in asked["identification"]] == [
        f"choice-{number}" for number in range(1, 7)
    ]
    assert asked["identification_unavailable"] is None


def test_the_questions_stay_the_same_and_differ_from_run_to_run(host, run):
    """They once were the same three items in every run."""
    first, again = (host.ask("run_exposure_probe", run_id=run) for _ in range(2))
    drawn = {
        tuple(
            sorted({one["item_id"] for one in host.ask("run_exposure_probe", run_id=own)["recall"]})
        )
        for own in (host.start() for _ in range(6))
    }

    assert first == again
    assert len(drawn) > 1


def test_the_key_is_nowhere_in_what_is_issued_or_kept(host, run):
    asked = host.ask("run_exposure_probe", run_id=run)
    kept = "".join(path.read_text() for path in (host.probe.folder / "runs" / run).iterdir())

    assert not {"letter", "key", "correct", "expected"} & set(asked["identification"][0])
    assert "letter" not in kept


def test_a_subject_that_recalls_the_words_is_flagged(host, run):
    asked = host.ask("run_exposure_probe", run_id=run)
    given = answers(asked)
    first = next(one for one in given["recall_attempts"] if one["part"] == "wording")
    prompts = {item["id"]: item["prompt"] for item in host.ask("list_probe_items")["items"]}
    first["recalled_text"] = prompts[first["item_id"]]

    found = host.ask("run_exposure_probe", run_id=run, **given)["contamination"]

    assert found["verdict"] == "flagged"
    assert found["contamination_indicated"] is True
    assert found["recall"]["highest_overlap"] == 1.0
    assert found["recall"]["flagged"][0]["item_id"] == first["item_id"]


def test_a_subject_that_picks_the_right_ones_is_flagged(host, run):
    asked = host.ask("run_exposure_probe", run_id=run)
    given = answers(asked)
    questions = host.probe._runs[run].questions.choices
    for one in given["identification_answers"][:4]:
        one["option"] = questions[one["question_id"]].expected["letter"]
    for one in given["identification_answers"][4:]:
        own = questions[one["question_id"]].expected["letter"]
        one["option"] = next(letter for letter in "ABCD" if letter != own)

    found = host.ask("run_exposure_probe", run_id=run, **given)["contamination"]

    assert found["identification"]["right"] == 4
    assert found["identification"]["p"] == pytest.approx(0.0376, abs=5e-5)
    assert found["verdict"] == "flagged"


def test_not_flagged_comes_with_what_it_does_not_mean(host, run):
    found = host.answer_probes(run)["contamination"]

    assert found["verdict"] in ("not flagged", "flagged")
    assert found["recall"]["recalled_nothing"] == found["recall"]["asked"]
    assert any("could not have flagged" in caution for caution in found["cautions"])


@pytest.mark.parametrize("said", ["", " ", "no", "...", "N/A"])
def test_a_blank_answer_is_no_clean_one(host, run, said):
    asked = host.ask("run_exposure_probe", run_id=run)

    refused = host.refused("run_exposure_probe", run_id=run, **answers(asked, recall=said))

    assert "fewer than 3 words" in refused
    assert host.ask("run_status", run_id=run)["exposure_probe"] == "challenge_issued"


def test_neither_half_can_be_left_out(host, run):
    given = answers(host.ask("run_exposure_probe", run_id=run))

    for half in given:
        said = host.refused("run_exposure_probe", run_id=run, **{half: given[half]})
        assert "have no answer" in said

    assert host.ask("run_status", run_id=run)["exposure_probe"] == "challenge_issued"


@pytest.mark.parametrize("half", ["recall_attempts", "identification_answers"])
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: rows[:-1], "have no answer"),
        (lambda rows: [*rows, rows[0]], "answered twice"),
        (lambda rows: [*rows[:-1], rows[0]], "answered twice"),
        (lambda rows: [], "have no answer"),
    ],
)
def test_every_question_has_exactly_one_answer(host, run, half, change, says):
    given = answers(host.ask("run_exposure_probe", run_id=run))

    said = host.refused("run_exposure_probe", run_id=run, **(given | {half: change(given[half])}))

    assert says in said


@pytest.mark.parametrize(
    ("half", "row", "says"),
    [
        ("recall_attempts", {"item_id": "XXX", "recalled_text": "a b c"}, "was not asked"),
        ("identification_answers", {"question_id": "choice-9", "option": "A"}, "was not asked"),
        ("identification_answers", {"question_id": "choice-1", "option": "E"}, "not one of: A"),
        ("recall_attempts", {"item_id": "XXX", "recalled_text": "x" * 50_001}, "at most 50,000"),
    ],
)
def test_an_answer_to_no_question_is_refused(host, run, half, row, says):
    given = answers(host.ask("run_exposure_probe", run_id=run))

    said = host.refused("run_exposure_probe", run_id=run, **(given | {half: [*given[half], row]}))

    assert says in said


def test_more_than_fifty_answers_are_refused(host, run):
    given = answers(host.ask("run_exposure_probe", run_id=run))
    given["recall_attempts"] = given["recall_attempts"] * 30

    assert "at most 50" in host.refused("run_exposure_probe", run_id=run, **given)


def test_answers_before_the_questions_are_refused(host, run):
    asked = host.ask("run_exposure_probe", run_id=run)
    other = host.start()

    said = host.refused("run_exposure_probe", run_id=other, **answers(asked))

    assert "No question was issued" in said


def test_the_first_answers_count(host, run):
    given = answers(host.ask("run_exposure_probe", run_id=run))
    first = host.ask("run_exposure_probe", run_id=run, **given)

    again = host.refused("run_exposure_probe", run_id=run, **given)

    assert "answered already" in again
    assert host.ask("run_exposure_probe", run_id=run) == first


def test_where_no_choice_can_be_put_the_card_says_why(tmp_path):
    host = Host(small_probe(tmp_path, 2))
    card = host.finished(host.start())

    found = card["contamination"]["identification"]

    assert (found["asked"], found["p"]) == (0, None)
    assert "It takes 3 items" in found["unavailable_reason"]


def test_the_questions_are_about_items_that_may_be_shown(tmp_path):
    host = Host(shipped_probe(tmp_path))
    shelf = host.probe.shelf
    kept = [shelf.items[code] for code in shelf.sensitive]
    titles = [item.details["sourceOnlyFields"]["title"] for item in kept]

    said = "".join(
        json.dumps(host.ask("run_exposure_probe", run_id=host.start()), ensure_ascii=False)
        for _ in range(5)
    )

    assert not [title for title in titles if title in said]
    assert not [item.code for item in kept if item.code in said]


def test_the_whole_prompt_is_in_no_question(host, run):
    said = json.dumps(host.ask("run_exposure_probe", run_id=run))

    assert not [n for n in range(16) if PROMPT.format(number=n) in said]
