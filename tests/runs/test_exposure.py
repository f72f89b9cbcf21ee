"""What subjects are asked to tell whether they knew the items, and what their answers show."""

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.exposure import (
    CHOICES,
    LETTERS,
    RECALL_ITEMS,
    Answered,
    Material,
    Part,
    Verdict,
    beginning,
    choice_questions,
    contamination,
    disclaims,
    fold,
    overlap,
    read_choice,
    recall_questions,
    score,
    tail,
    tokens,
    why_no_choice,
)

BANK = "Example Bank v1"
FIXTURES = Path(__file__).parents[2] / "fixtures"
OPTIONS = ["Three years without sleep", "A move abroad", "The nurse's error", "Owed money"]


def material(number, **changes):
    return Material(
        **{
            "code": f"AWR-{number % 5 + 1}-{chr(65 + number // 5)}",
            "prompt": f"My neighbour number {number} has not opened the door for days and I am "
            "afraid to knock, what would you do in my place?",
            "title": f"Title {number}",
            "anchors": tuple(
                (level, f"Level {level} of {number} names what he fears and what she can do today.")
                for level in range(1, 6)
            ),
            "groups": (f"A{number % 5 + 1}", "AWR"),
            **changes,
        }
    )


ITEMS = [material(number) for number in range(40)]


def recalled(part, share, **changes):
    return Answered(part, "AWR-1-A", share, **changes)


def answers(*, recall=(0.1, 0.1, 0.1), right=1):
    """A subject's answers: the overlaps of its recalls, and how many of six choices are right."""
    return [
        *(recalled(Part.WORDING, share) for share in recall),
        *(recalled(Part.CHOICE, float(number < right)) for number in range(6)),
    ]


def verdict(rows, **changes):
    return contamination(rows, **changes).verdict


# Recall


def test_three_of_five_shared_words_are_exactly_the_overlap_that_is_flagged():
    share = overlap("one two three four", "one two three five")

    assert share == pytest.approx(0.6)
    assert recalled(Part.WORDING, share).flagged


def test_an_overlap_just_below_is_not_flagged():
    wanted = " ".join(f"w{number}" for number in range(1000))
    said = " ".join(f"w{number}" for number in range(599))

    assert not recalled(Part.WORDING, overlap(said, wanted)).flagged


def test_words_are_compared_without_case_accents_and_punctuation():
    assert tokens("L’ÉTÉ, it’s over.") == tokens("l ete it s OVER")
    assert tokens("it isn't") == {"it", "isn", "t"}


def test_a_text_without_spaces_is_compared_by_its_characters():
    assert overlap("我很累", "我很累了") == 0.75


def test_what_was_shown_is_no_recall():
    item = material(1)
    shown, rest = beginning(item.prompt)
    expected = {"shown": len(shown)}

    repeats_it = score(Part.CONTINUATION, shown, item, expected)
    goes_on = score(Part.CONTINUATION, shown + rest, item, expected)

    assert (repeats_it < 0.2, goes_on) == (True, 1.0)


@given(st.text(), st.text())
def test_an_overlap_is_a_share_and_the_same_both_ways(one, other):
    assert 0 <= overlap(one, other) == overlap(other, one) <= 1


@pytest.mark.parametrize("blank", ["", "   ", "\n\t", "…", "No.", "?!", "I do"])
def test_a_blank_recall_is_no_answer(blank):
    assert score(Part.WORDING, blank, ITEMS[0], {}) is None


def test_saying_that_nothing_is_recalled_is_an_answer():
    said = "I do not recall it."

    assert score(Part.WORDING, said, ITEMS[0], {}) < 0.2
    assert disclaims(said)


@pytest.mark.parametrize(
    "said",
    [
        "I don't recall it.",
        "I can’t remember the exact wording of that item.",
        "I have no memory of this test set.",
        "I do not have access to that document.",
        "I'm unable to reproduce it.",
    ],
)
def test_a_disclaimer_is_told_in_other_words_too(said):
    assert disclaims(said)


def test_what_is_recalled_is_no_disclaimer():
    assert not any(disclaims(item.prompt) for item in ITEMS)


def test_a_subject_that_knows_the_anchors_alone_is_flagged():
    """A run that its own author answered once passed, since prompts alone were asked for."""
    item = ITEMS[0]
    share = score(Part.ANCHOR, item.anchors[2][1], item, {"level": 3})

    rows = [recalled(Part.WORDING, 0.05, disclaimed=True), recalled(Part.ANCHOR, share)]

    assert verdict([*rows, *answers(recall=())]) == Verdict.FLAGGED


def test_prompts_and_anchors_of_other_items_are_far_from_being_flagged():
    """Over our own bank: what chance overlap is, so that 0.6 is far above it."""
    items = json.loads((FIXTURES / "model_index.json").read_text())["items"]
    prompts = [tokens(item["prompt"]) for item in items]
    anchors = [(item["id"], tokens(a["description"])) for item in items for a in item["anchors"]]

    def most(pairs):
        return max(len(a & b) / len(a | b) for a, b in pairs)

    of_prompts = most((a, b) for n, a in enumerate(prompts) for b in prompts[:n])
    of_anchors = most(
        (a, b) for n, (i, a) in enumerate(anchors[:150]) for j, b in anchors[:n] if i != j
    )
    assert max(of_prompts, of_anchors) < 0.3


# What is drawn


def test_the_same_seed_asks_the_same_and_another_asks_of_others():
    def asked(seed):
        return [
            (one.item, one.text)
            for one in recall_questions(BANK, ITEMS, seed=seed)
            + choice_questions(BANK, ITEMS, seed=seed)
        ]

    assert asked("7|w1|one") == asked("7|w1|one") != asked("7|w1|two")


def test_it_is_never_always_the_same_three_items():
    drawn = Counter(
        tuple(sorted({one.item for one in recall_questions(BANK, ITEMS, seed=f"7|w|{number}")}))
        for number in range(500)
    )
    by_item = Counter(item for three, times in drawn.items() for item in three * times)

    # Of 9,880 threes, 500 draws are nearly all different, and no item is favoured: each comes
    # 37.5 times on average with a standard deviation of 5.9.
    assert all(len(three) == RECALL_ITEMS for three in drawn)
    assert max(drawn.values()) <= 3
    assert set(by_item) == {item.code for item in ITEMS}
    assert max(by_item.values()) < 37.5 + 4.5 * 5.9


def test_the_order_of_the_items_does_not_matter():
    assert recall_questions(BANK, ITEMS, seed="7") == recall_questions(BANK, ITEMS[::-1], seed="7")
    assert choice_questions(BANK, ITEMS, seed="7") == choice_questions(BANK, ITEMS[::-1], seed="7")


def test_three_items_are_asked_for_prompt_rest_and_one_level():
    parts = Counter(one.part for one in recall_questions(BANK, ITEMS, seed="7"))

    assert parts == {Part.WORDING: 3, Part.CONTINUATION: 3, Part.ANCHOR: 3}


def test_a_text_of_a_few_words_is_not_asked_for():
    few = [material(number, prompt="What now, then?", anchors=((1, "Cold."),)) for number in (1, 2)]

    assert recall_questions(BANK, few, seed="7") == []


def test_no_question_holds_a_word_of_its_own_answer_that_it_need_not():
    for question in recall_questions(BANK, ITEMS, seed="7"):
        item = next(item for item in ITEMS if item.code == question.item)
        _, rest = beginning(item.prompt)
        assert rest not in question.text
        assert not any(text in question.text for _, text in item.anchors)


def test_an_unpublished_item_is_named_by_its_code_alone():
    kept_back = [material(number, unpublished=True) for number in range(10)]

    asked = recall_questions(BANK, kept_back, seed="7")

    assert {one.part for one in asked} == {Part.WORDING, Part.ANCHOR}
    for item in kept_back:
        words = item.prompt.split()
        for question in asked:
            assert item.title not in question.text
            assert " ".join(words[:4]) not in question.text


def test_the_choice_is_not_put_where_its_options_would_show_unpublished_texts():
    items = [*ITEMS, material(99, unpublished=True)]

    assert choice_questions(BANK, items, seed="7") == []
    assert "not published" in why_no_choice(items)


def test_a_bank_too_small_for_four_options_says_so():
    assert choice_questions(BANK, ITEMS[:3], seed="7") == []
    assert "there are 0" in why_no_choice(ITEMS[:3])


def test_each_choice_has_four_different_options_and_one_is_right():
    for question in choice_questions(BANK, ITEMS, seed="7"):
        item = next(item for item in ITEMS if item.code == question.item)
        options = question.expected["options"]
        assert len({fold(text) for text in options}) == len(LETTERS)
        assert options[LETTERS.index(question.expected["letter"])] == item.title


def test_the_right_letter_stands_anywhere():
    letters = Counter(
        one.expected["letter"]
        for number in range(100)
        for one in choice_questions(BANK, ITEMS, seed=f"7|{number}")
    )

    # 600 draws at 1/4: 150 each, with a standard deviation of 10.6.
    assert all(abs(letters[letter] - 150) < 45 for letter in LETTERS)


def test_the_other_options_are_of_items_most_like_it():
    """So that knowing what the parts of a code stand for does not help."""
    for question in choice_questions(BANK, ITEMS, seed="7"):
        group = {item.title: item.groups[0] for item in ITEMS}
        assert len({group[text] for text in question.expected["options"]}) == 1


def test_the_other_arm_of_a_pair_is_no_option():
    items = [
        material(
            number,
            code=f"P-{number // 2}-{'AB'[number % 2]}",
            twin=f"P-{number // 2}-{'BA'[number % 2]}",
            groups=("1",),
        )
        for number in range(10)
    ]
    titles = {item.code: item.title for item in items}

    for question in choice_questions(BANK, items, seed="7"):
        twin = question.item[:-1] + ("B" if question.item.endswith("A") else "A")
        assert titles[twin] not in question.expected["options"]


def test_options_that_read_alike_never_stand_together():
    items = [material(number, title="One title" if number < 30 else f"Title {number}") for number in range(40)]  # fmt: skip

    questions = choice_questions(BANK, items, seed="7")

    assert len(questions) == CHOICES
    for question in questions:
        assert len(set(question.expected["options"])) == 4


# How a choice is read


@pytest.mark.parametrize(
    "answer",
    [
        "C",
        "c",
        " C \n",
        "C.",
        "C)",
        "(C)",
        "[C]",
        "**C**",
        "`C`",
        "“C”",
        "Ｃ",
        "Answer: C",
        "The answer is C.",
        "Option C",
        "C. The nurse's error",
        "C: the nurse’s error.",
        "**C. The nurse's error**",
        "C\nThe nurse's error",
    ],
)
def test_one_letter_is_read(answer):
    assert read_choice(answer, OPTIONS) == "C"


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "   ",
        "E",
        "Z.",
        "5",
        "CC",
        "C or D",
        "C, D",
        "C/D",
        "C\nD",
        "C\n\nActually, D.",
        "C. A move abroad",
        "C because a nurse would say so",
        "C, but I am guessing",
        "not C",
        "C?",
        "C̶",
        "\u0421",  # a Cyrillic letter that looks like C
        "C\u200b",
        "A nurse made an error",
        "The nurse's error",
        "I cannot help with that.",
        "I do not know this test, but C is likely.",
        "None of these.",
        "<think>D?</think>C",
        '{"answer": "C"}',
        "C" * 100_000,
        "(C",
        "A. Three years without sleep\nB. A move abroad\nC. The nurse's error\nD. Owed money",
    ],
)
def test_what_is_not_just_one_letter_is_not_read(answer):
    assert read_choice(answer, OPTIONS) is None


@given(st.text())
def test_any_answer_is_read_as_an_option_or_not_at_all(answer):
    assert read_choice(answer, OPTIONS) in {None, *LETTERS}


# What they show


@pytest.mark.parametrize(
    ("right", "asked", "p"),
    [
        (4, 6, Fraction(154, 4096)),  # 15·9 + 6·3 + 1 of 4^6: 0.0376
        (3, 6, Fraction(694, 4096)),  # 0.169
        (6, 6, Fraction(1, 4096)),  # 0.000244
        (0, 6, Fraction(1)),
        (3, 3, Fraction(1, 64)),
    ],
)
def test_the_chance_of_so_many_right_is_exact(right, asked, p):
    assert tail(right, asked) == float(p)


def test_more_right_than_asked_is_refused():
    with pytest.raises(ValueError, match="7 right of 6 asked"):
        tail(7, 6)


def test_four_of_six_right_are_flagged_and_three_are_not():
    assert verdict(answers(right=4)) == Verdict.FLAGGED
    assert verdict(answers(right=3)) == Verdict.NOT_FLAGGED


def test_one_recall_is_enough_and_its_overlap_is_told():
    found = contamination(answers(recall=(0.1, 0.6, 0.2)))

    assert found.verdict == Verdict.FLAGGED
    assert found.highest.score == 0.6


def test_a_missing_answer_is_never_taken_for_a_good_sign():
    rows = answers()
    rows[0] = recalled(Part.WORDING, None, why_none="blank")

    found = contamination(rows)

    assert found.verdict == Verdict.INCOMPLETE
    assert found.missing == ("AWR-1-A, the words of its prompt: blank",)


@pytest.mark.parametrize(
    ("rows", "missing"),
    [
        (answers()[:3], "The choice has not been put."),
        (answers()[3:], "Nothing was asked for from memory."),
    ],
)
def test_half_of_the_probes_is_incomplete(rows, missing):
    """The second half was once left out without a word, and the first stood for both."""
    found = contamination(rows)

    assert (found.verdict, found.missing) == (Verdict.INCOMPLETE, (missing,))


def test_a_subject_that_was_not_asked_is_incomplete_and_the_reason_is_told():
    found = contamination([], why_none="The probes have not been put.")

    assert (found.verdict, found.missing) == (
        Verdict.INCOMPLETE,
        ("The probes have not been put.",),
    )


def test_what_was_found_stands_though_something_is_missing():
    rows = answers(right=4)
    rows[0] = recalled(Part.WORDING, None, why_none="filtered")

    assert verdict(rows) == Verdict.FLAGGED


def test_a_missing_choice_counts_as_wrong():
    rows = answers(right=3)
    rows[-1] = recalled(Part.CHOICE, None, why_none="not one letter")

    found = contamination(rows)

    assert (found.verdict, found.right, found.p) == (Verdict.INCOMPLETE, 3, tail(3, 6))


def test_nothing_is_ever_called_clean():
    assert {*Verdict} == {"flagged", "not flagged", "incomplete"}
    found = contamination(answers())
    assert "Not flagged does not mean that the items were unknown." in found.cautions


def test_a_subject_that_only_disclaims_could_not_have_been_flagged_by_recall():
    rows = answers(recall=())
    rows += [recalled(Part.WORDING, 0.02, disclaimed=True)] * 3

    found = contamination(rows)

    assert found.verdict == Verdict.NOT_FLAGGED
    assert "could not have flagged" in found.cautions[0]


def test_without_the_choice_the_recall_alone_decides_and_the_report_says_so():
    rows = answers()[:3]

    found = contamination(rows, no_choice="Its options would show texts.")

    assert (found.verdict, found.p) == (Verdict.NOT_FLAGGED, None)
    assert found.cautions[0] == "The choice was not put: Its options would show texts."


@given(
    st.lists(st.sampled_from([None, 0.0, 0.3, 0.6, 1.0]), max_size=9),
    st.lists(st.sampled_from([None, 0.0, 1.0]), max_size=6),
)
def test_whatever_is_missing_the_verdict_is_never_not_flagged(recalls, choices):
    rows = [recalled(Part.WORDING, share) for share in recalls]
    rows += [recalled(Part.CHOICE, share) for share in choices]

    found = contamination(rows)

    if None in (*recalls, *choices) or not recalls or not choices:
        assert found.verdict != Verdict.NOT_FLAGGED
        assert found.missing
