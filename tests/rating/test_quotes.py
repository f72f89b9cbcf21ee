"""Quotes: what is found, where, and what is refused with which words."""

import csv
import unicodedata
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rating.quotes import (
    MOST_PAIRS,
    NotThere,
    Refused,
    Several,
    Span,
    TooShort,
    check,
    find,
    fold,
)

TEXT = (
    "I’m here — really. Wanting a **break** does not mean “abandoning her”…\n\n"
    "- first you rest\n- then you ask your brother\n\nWanting a break is human &amp; wise."
)
LEND_AN_EAR = Path(__file__).parent.parent / "data" / "lend-an-ear"


@pytest.mark.parametrize(
    ("words", "slice_"),
    [
        ("Wanting a **break** does not", "Wanting a **break** does not"),
        ("wanting a break does not", "Wanting a **break** does not"),
        ('does not mean "abandoning her"', "does not mean “abandoning her”"),
        ('mean "abandoning her"...', "mean “abandoning her”…"),
        ("I'm here - really", "I’m here — really"),
        ("does\u00a0not \n mean “abandoning", "does not mean “abandoning"),
        ("first you rest then you ask", "first you rest\n- then you ask"),
        ("is human & wise", "is human &amp; wise"),
        ("is hu\u00adman &amp; wi\u200bse", "is human &amp; wise"),
    ],
)
def test_words_are_found_through_the_folding_and_the_original_slice_is_kept(words, slice_):
    assert find(TEXT, words).of(TEXT) == slice_


@pytest.mark.parametrize(
    ("text", "words", "slice_"),
    [
        ("un cafe\u0301 tout seul ce soir", "café tout seul", "cafe\u0301 tout seul"),
        ("un café tout seul ce soir", "cafe\u0301 tout seul", "café tout seul"),
        ("line one ends\r\nline two begins", "one ends line two", "one ends\r\nline two"),
        ("| so heavy | so long |\n|---|---|", "heavy so long", "heavy | so long"),
        (
            "we 👨‍👩‍👧‍👦 stay together here",
            "we 👨‍👩‍👧‍👦 stay together",
            "we 👨‍👩‍👧‍👦 stay together",
        ),
        ("أنا معك الليلة يا صديقي", "معك الليلة يا", "معك الليلة يا"),
        (
            "我知道这对你来说非常困难,你已经尽力了",
            "这对你来说非常困难,你已经",
            "这对你来说非常困难,你已经",
        ),
        ("Ｆｕｌｌ width letters here", "full width letters", "Ｆｕｌｌ width letters"),
        (
            "say &quot;it is hard&quot; out loud",
            'say "it is hard" out',
            "say &quot;it is hard&quot; out",
        ),
    ],
)
def test_scripts_and_encodings_of_all_kinds_keep_their_places(text, words, slice_):
    assert find(text, words).of(text) == slice_


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        *((mark, "'") for mark in "‘’‚‛′ʼ´＇"),
        *((mark, '"') for mark in "“”„‟″«»＂"),
        *((dash, "-") for dash in "‐‑‒–—―−﹘﹣－"),
        ("…", "..."),
        *((space, " ") for space in "\u00a0\u2009\u202f\u3000\t\n\u2028"),
        ("\r\n", " "),
        *((unseen, "") for unseen in "\u00ad\u200b\u200c\u2060\ufeff\u200e\u200f\u202e\u2066"),
        *((mark, "") for mark in ("**", "__", "`", "~~", "> ", "## ")),
        ("&quot;", '"'),
        ("&#39;", "'"),
        ("&#x2014;", "-"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
        ("&lt;", "<"),
    ],
    ids=ascii,
)
def test_each_variant_is_found_by_its_plain_form_and_the_other_way_round(written, typed):
    text = f"at first you may{written} rest a while, my friend"
    plain = f"at first you may{typed} rest a while, my friend"

    assert find(text, plain[3:]).of(text) == text[3:]
    assert find(plain, text[3:]).of(plain) == plain[3:]


@given(st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]), st.sampled_from(["NFC", "NFD"]))
def test_composed_and_decomposed_letters_are_the_same(typed, written):
    said = "à la française, où l’été déjà s’éloigne, Việt Nam ấm áp, 각자 한국어"
    text = unicodedata.normalize(written, said)

    assert find(text, unicodedata.normalize(typed, said)) == Span(0, len(text))


@pytest.mark.parametrize("emoji", ["👨‍👩‍👧‍👦", "👩🏽‍🚀", "🏳️‍🌈", "🇩🇪", "1️⃣", "❤️", "👍🏿"])
def test_an_emoji_of_many_parts_is_kept_whole(emoji):
    text = f"we stay here {emoji} tonight {emoji} with you"

    assert find(text, f"stay here {emoji} tonight").of(text) == f"stay here {emoji} tonight"
    cut = text.index(emoji) + 1
    if len(emoji) > 1:
        with pytest.raises(Refused):
            check(text, 0, cut)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("אני כאן איתך הלילה, חברי", "כאן איתך הלילה"),
        ("\u202bأنا معك الليلة\u202c يا صديقي", "معك الليلة يا صديقي"),
        ("she said \u2067שלום לך ידידי\u2069 and went", "said שלום לך ידידי and"),
    ],
)
def test_words_written_from_right_to_left_are_found_with_or_without_direction_marks(text, words):
    assert fold(find(text, words).of(text))[0] == fold(words)[0]


def test_cells_of_a_table_are_quoted_across_its_bars_and_lines():
    text = "| need | step |\n|---|---|\n| rest | sleep early |\n| help | ask a friend |"

    assert find(text, "rest sleep early").of(text) == "rest | sleep early"
    assert find(text, "| help | ask a friend |").of(text) == "| help | ask a friend |"


def test_the_third_of_many_repeats_stays_the_third():
    text = "You are not alone. " * 5
    third = 2 * len("You are not alone. ")

    for hint in (third, third + 3, third - 3):
        assert find(text, "You are not alone.", hint=hint).start == third
        assert find(text, "you are NOT alone.", hint=hint).start == third
    with pytest.raises(Several) as why:
        find(text, "you are NOT alone")
    assert len(why.value.places) == 5


@given(st.text(alphabet="ab é\u0301\n*-&;", max_size=40), st.integers(0, 40))
def test_with_a_hint_the_nearest_of_all_places_is_taken(text, hint):
    words = "a b"
    everywhere = [
        at
        for at in range(len(text))
        if text.startswith(words, at)
        and not text[at - 1 : at].isalpha()
        and not text[at + 3 : at + 4].isalpha()
        and text[at + 3 : at + 4] != "\u0301"
        and not (at and text[at - 1] == "\u0301")
    ]
    try:
        found = find(text, words, hint=hint)
    except Refused:
        return

    if everywhere and text[found.start : found.end] == words:
        assert abs(found.start - hint) == min(abs(at - hint) for at in everywhere)


class Counted(str):
    """Counts how often a text is searched."""

    searches = 0

    def find(self, *args):
        type(self).searches += 1
        return super().find(*args)


def test_words_in_very_many_places_are_looked_for_no_longer_than_places_are_shown():
    text = Counted("a word or two " * 20_000)

    with pytest.raises(Several) as why:
        find(text, "a word or two")

    assert len(why.value.places) == 20
    assert Counted.searches < 50


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b " * 75_000, "a b " * 1_249 + "c"),
        ("a" * 300_000, "A" * 5_000),
        ("a b " * 75_000, "A b " * 1_249),
        ("some words of a long reply " * 11_000, "of a long reply some wurds " * 185),
    ],
    ids=["many alike, one not", "one long word", "many places", "pasted and altered"],
)
def test_a_long_reply_and_a_long_quote_take_no_more_than_their_length_asks(text, words):
    """Of the time for half of it, twice as much: compared by what is compared, not by the clock."""
    compared = []

    class Watched(SequenceMatcher):
        def __init__(self, junk, a, b, **options):
            often = Counter(a)
            compared.append(sum(often[word] for word in b))
            super().__init__(junk, a, b, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rating.quotes.SequenceMatcher", Watched)
        with pytest.raises(Refused):
            find(text, words)

    assert sum(compared) < 3 * MOST_PAIRS


def test_words_left_out_are_refused_and_named():
    with pytest.raises(NotThere) as why:
        find(TEXT, "Wanting a break does mean abandoning her")

    assert str(why.value) == (
        "These words are not in the response. The closest passage is: "
        "“Wanting a **break** does not mean “abandoning her”."
    )
    assert why.value.difference == "left out: “not”"


def test_a_changed_word_is_refused_and_named():
    with pytest.raises(NotThere) as why:
        find(TEXT, "then you ask your sister")

    assert why.value.difference == "“brother” changed to “sister”"
    assert why.value.closest.of(TEXT) == "then you ask your brother"


def test_words_that_are_nothing_like_the_response_get_no_passage():
    with pytest.raises(NotThere) as why:
        find(TEXT, "photosynthesis occurs within chloroplasts")

    assert why.value.closest is None


@pytest.mark.parametrize("words", ["", "   ", "…", "really", "a break", "you ask"])
def test_too_few_words_are_refused(words):
    with pytest.raises(TooShort):
        find(TEXT, words)


def test_a_response_shorter_than_a_quote_can_be_quoted_whole():
    assert find("I can’t.", "i can't").of("I can’t.") == "I can’t"
    assert find("No.", "No.").of("No.") == "No."


def test_no_more_of_what_was_typed_is_compared_than_a_passage_needs():
    """Without the bound this took seconds; the closest passage is still named."""
    text = "so it goes and so it went " * 4000

    with pytest.raises(NotThere) as why:
        find(text, "so it goes and so it went on and on " * 500)

    assert why.value.closest is not None
    assert len(str(why.value)) < 500


def test_words_that_stand_twice_ask_for_a_place_and_the_hint_gives_it():
    text = "It is not your fault. Truly, it is not your fault."

    with pytest.raises(Several) as why:
        find(text, "is not your fault")

    assert [place.start for place in why.value.places] == [3, 32]
    assert find(text, "is not your fault", hint=30).start == 32


def test_a_hint_never_overrules_the_words():
    assert find(TEXT, "first you rest", hint=3).of(TEXT) == "first you rest"


def test_a_word_cut_in_half_is_not_in_the_response():
    with pytest.raises(NotThere):
        find(TEXT, "anting a break does not")


@pytest.mark.parametrize(
    ("start", "end"), [(-1, 20), (0, 10_000), (20, 20), (30, 20), (20, 35), (19, 33)]
)
def test_places_that_no_quote_may_have_are_refused(start, end):
    with pytest.raises(Refused):
        check(TEXT, start, end)


def test_a_place_is_kept_without_the_white_space_at_its_ends():
    at = TEXT.index(" does not mean ")

    assert check(TEXT, at, at + len(" does not mean ")) == Span(at + 1, at + 14)


def test_half_an_emoji_is_no_place():
    text = "we 👨‍👩‍👧‍👦 stay together tonight"

    with pytest.raises(Refused):
        check(text, 5, len(text))


@given(st.text(max_size=300))
def test_folding_maps_every_character_back_in_order(text):
    folded, starts, ends = fold(text)

    assert len(folded) == len(starts) == len(ends)
    assert list(starts) == sorted(starts)
    assert all(0 <= start < end <= len(text) for start, end in zip(starts, ends, strict=True))


@settings(max_examples=200)
@given(st.text(max_size=200), st.data())
def test_what_check_lets_through_is_found_again_at_its_place(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    try:
        span = check(text, start, end)
    except Refused:
        return

    assert find(text, span.of(text), hint=span.start) == span


@given(st.text(max_size=200), st.text(max_size=60))
def test_whatever_is_typed_is_found_or_refused_in_words(text, words):
    try:
        span = find(text, words)
    except TooShort:
        return
    except Several as why:
        assert len(why.places) > 1  # noqa: PT017
    except NotThere as why:
        assert why.closest is None or why.closest.of(text)  # noqa: PT017
    else:
        assert span.of(text).strip()


def test_most_of_what_people_typed_as_quotes_is_found_and_no_more():
    """Lend an Ear: people's own quotes, of which about one in five is not verbatim."""
    texts = {
        row["unit"]: row["conversation"]
        for row in csv.DictReader((LEND_AN_EAR / "conversations.csv").open(newline=""))
    }
    outcomes = {"found": 0, "TooShort": 0, "Several": 0, "NotThere": 0}
    for row in csv.DictReader((LEND_AN_EAR / "ratings.csv").open(newline="")):
        if not row["quote"].strip():
            continue
        try:
            find(texts[row["unit"]], row["quote"])
        except Refused as why:
            outcomes[type(why).__name__] += 1
        else:
            outcomes["found"] += 1

    assert outcomes == {"found": 857, "TooShort": 10, "Several": 3, "NotThere": 201}
