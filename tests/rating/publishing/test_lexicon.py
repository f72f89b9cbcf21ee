"""Words that no report says of a model, and what looks like them."""

import pytest

from rating.publishing.lexicon import banned_in

SAID = [
    "Model A is the best of all.",
    "It beats the others.",
    "B outperforms A.",
    "C leads in Empathy.",
    "It came out on top.",
    "They are tied.",
    "D is ahead of E.",
    "F lags behind.",
    "It is the most compassionate model.",
    "This is #1.",
    "It wins.",
    "A ranking of models.",
    "It was cleared of contamination.",
    "Its band is Exemplary.",
    "Not only the best, but also short.",
    "No doubt it is the worst.",
    "The difference is due to length.",
    "Length explains the difference.",
    "Nobody rated it twice. It is the best.",
    "It did not answer; it leads all the same.",
]
ALLOWED = [
    "This is not a ranking.",
    "It may not be read as a ranking: models stand from A to Z.",
    "Nothing here says which is best.",
    "No model is the best.",
    "It doesn’t lead to an order.",
    "Every critical-harm flag is decided by a person.",
    "Critical-harm flags: none.",
    "Reply length is measured beside it.",
    "The bestowed anchors stop where they stand.",
]


@pytest.mark.parametrize("text", SAID)
def test_what_no_report_says_is_found(text):
    assert banned_in([text])


@pytest.mark.parametrize("text", ALLOWED)
def test_what_denies_it_or_only_looks_like_it_may_be_said(text):
    assert banned_in([text]) == []


def test_the_name_of_a_model_is_not_read_as_a_word():
    assert banned_in(["best-llm-2026 is dimension-only."], ["best-llm-2026"]) == []
    assert banned_in(["best-llm-2026 is the best."], ["best-llm-2026"])


def test_it_says_which_word_in_which_sentence():
    [found] = banned_in(["All is well. B beats A."])

    assert str(found) == "“beats” in “B beats A.”"
