"""The table of what becomes of typed quotes, and the command that prints it."""

import json
import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from rating.quotes_table import (
    AS_IT_STANDS,
    CHANGED,
    FOLDED,
    LEFT_OUT,
    MARKS_DIFFER,
    NOTHING_LIKE,
    OUTCOMES,
    SEVERAL,
    TOO_LONG,
    TOO_SHORT,
    folds_needed,
    outcome_of,
    quotes_table,
)

ROOT = Path(__file__).parent.parent.parent
LEND_AN_EAR = ROOT / "tests" / "data" / "lend-an-ear"
TEXT = "I hear you, and I am here. Rest first. I hear you, and then “ask” for **some** help."


@pytest.mark.parametrize(
    ("quote", "outcome"),
    [
        ("and I am here", AS_IT_STANDS),
        ("  and I am here\n", AS_IT_STANDS),
        ('then "ask" for some help', FOLDED),
        ("I hear you, and", SEVERAL),
        ("Rest", TOO_SHORT),
        ("x" * 20_001, TOO_LONG),
        ("hear you, and am here", LEFT_OUT),
        ("hear you, and I was here", CHANGED),
        ("hear you and I am here", MARKS_DIFFER),
        ("photosynthesis occurs within chloroplasts", NOTHING_LIKE),
    ],
)
def test_each_quote_has_one_outcome(quote, outcome):
    assert outcome_of(TEXT, quote)[0] == outcome


@pytest.mark.parametrize(
    ("quote", "passage", "steps"),
    [
        ("one two", "one  two", ["white space"]),
        ("one two", "One\u00a0two", ["white space", "case"]),
        ('say "so"', "say “so”", ["quotes"]),
        ("well - known", "well — known", ["dashes"]),
        ("and so...", "and so…", ["ellipses"]),
        ("you & me", "you &amp; me", ["entities"]),
        ("human", "hu\u00adman", ["unseen characters"]),
        ("a break now", "a **break** now", ["marks"]),
        ("café", "cafe\u0301", ["letters"]),
        ("the same", "the same", []),
    ],
)
def test_the_steps_of_the_folding_that_a_quote_needed_are_named(quote, passage, steps):
    assert folds_needed(quote, passage) == steps


def test_rows_with_nothing_typed_are_counted_apart_and_examples_are_three():
    table = quotes_table(
        [(TEXT, f"nothing like {n} photosynthesis") for n in range(5)] + [(TEXT, " ")]
    )

    assert (table.quotes, table.empty) == (5, 1)
    assert [len(row.examples) for row in table.rows if row.count] == [3]


def test_the_printed_table_is_what_the_data_give(capsys):
    call_command(
        "quotes",
        str(LEND_AN_EAR / "ratings.csv"),
        "--texts",
        str(LEND_AN_EAR / "conversations.csv"),
        "--json",
    )
    told = json.loads(capsys.readouterr().out)
    page = (ROOT / "docs" / "quotes.md").read_text()

    printed = re.findall(r"^\| ([a-z ,]+) \| (\d+) \| ([\d.]+)% \|$", page, re.MULTILINE)
    assert [name for name, *_ in printed] == list(OUTCOMES)
    assert printed == [
        (row["outcome"], str(row["count"]), f"{100 * row['count'] / told['quotes']:.1f}")
        for row in told["rows"]
    ]
    assert f"{told['quotes']:,} of its rows" in page
    folds = {row["outcome"]: row["folds"] for row in told["rows"]}[FOLDED]
    assert folds == {"white space": 51, "case": 6}
    assert "white space had to be folded in 51 and case in 6" in page


def test_a_file_of_texts_and_quotes_is_read_as_csv_and_as_json(tmp_path, capsys):
    rows = [
        {"text": TEXT, "quote": "and I am here"},
        {"text": TEXT, "quote": "\x1b[31mred herring"},
    ]
    for name in ("rows.csv", "rows.json"):
        file = tmp_path / name
        if name.endswith("json"):
            file.write_text(json.dumps(rows))
        else:
            lines = [f'"{row["text"]}","{row["quote"]}"' for row in rows]
            file.write_text("\n".join(["text,quote", *lines]))
        call_command("quotes", str(file))
        said = capsys.readouterr().out
        assert re.search(r"accepted as it stands +1 +50\.0%", said)
        assert "\x1b" not in said


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "text\nx", "row 1 has no column quote"),
        ("a.csv", "", "holds no rows"),
        ("a.csv", "text,quote\nx", "row 1 is not columns of text"),
        ("a.json", "{", "cannot be read"),
        ("a.json", '{"text": "x"}', "holds no rows"),
        ("a.json", '[{"text": 1, "quote": "x"}]', "row 1 is not columns of text"),
        ("missing.csv", None, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path, name, content, said):
    file = tmp_path / name
    if content is not None:
        file.write_text(content)

    with pytest.raises(CommandError, match=said):
        call_command("quotes", str(file))


def test_a_quote_of_a_text_that_is_not_there_is_named(tmp_path):
    quotes, texts = tmp_path / "q.csv", tmp_path / "t.csv"
    quotes.write_text("unit,quote\n7,some words here")
    texts.write_text("unit,said\n8,some words here")

    with pytest.raises(CommandError, match="no text for unit 7"):
        call_command("quotes", str(quotes), "--texts", str(texts))
    texts.write_text("other,said\n8,some words here")
    with pytest.raises(CommandError, match="needs two columns"):
        call_command("quotes", str(quotes), "--texts", str(texts))
