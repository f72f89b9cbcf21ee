"""A few hostile texts of each kind, by every way that needs no database. The rest: `make proof`."""

import time
from datetime import timedelta

import pytest

from rating import quotes
from rating.publishing.bundle import PUBLIC, REPORT, _zipped
from tests.hostile.corpus import KINDS, corpus
from tests.hostile.files import READERS, bombs, bundle_refusal, spoiled
from tests.hostile.inert import page_faults
from tests.hostile.ways import WAYS

SAMPLE = corpus(2 * len(KINDS), long_every=0)


def test_the_corpus_is_the_same_each_time_and_no_text_is_there_twice():
    texts = corpus(2_000)

    assert texts == corpus(2_000)
    assert len({one.text for one in texts}) == 2_000
    assert {one.kind for one in texts} == {*KINDS, "long"}
    assert all(one.mark in one.text for one in texts)


@pytest.mark.parametrize("way", WAYS)
def test_a_few_of_each_kind_are_inert(way):
    assert list(WAYS[way](SAMPLE)) == []


@pytest.mark.parametrize(
    "page",
    [
        "<p>{}</p>",
        '<input value="{}">',
        "<textarea>{}</textarea>",
        "<title>{}</title>",
        '<a href="/x/{}">x</a>',
    ],
)
def test_a_text_that_is_not_escaped_would_be_found(page):
    """In every place of a page, most of the kinds that are made for it are."""
    found = {
        kind
        for kind in ("script", "handler", "htmx", "link", "svg", "style")
        if any(
            page_faults(page.format(one.text))
            for one in corpus(260, long_every=0)
            if one.kind == kind
        )
    }

    assert len(found) >= 5


@pytest.mark.parametrize(
    "address", ["https://evil.example/", "javascript:x", "//evil.example", "data:text/html,x"]
)
def test_an_address_that_leads_away_would_be_found(address):
    assert page_faults(f'<a href="{address}">x</a>')
    assert page_faults('<a href="/rate/#panel">x</a>') == []


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_file_that_is_nearly_right_is_taken_or_refused_in_words(reader, tmp_path):
    (tmp_path / "right").write_bytes(reader.base())
    reader.read(tmp_path / "right")

    refused = 0  # in words
    for raw in spoiled(reader.base(), 80, seed=f"few|{reader.name}"):
        path = tmp_path / "file"
        path.write_bytes(raw)
        try:
            reader.read(path)
        except reader.refusals as why:
            refused += bool(str(why).strip())
    assert refused > 20 or not reader.refusals


def test_an_archive_that_would_unfold_is_refused_before_it_does(tmp_path):
    whole = _zipped(PUBLIC, {REPORT: "{}", "figures.csv": "a\r\n"})
    begun = time.process_time()

    for name, raw in bombs(whole):
        path = tmp_path / "bundle.zip"
        path.write_bytes(raw)
        assert bundle_refusal(path), name

    assert timedelta(seconds=time.process_time() - begun) < timedelta(seconds=30)


def test_words_that_stand_at_every_letter_are_looked_for_only_so_often():
    """Each place begins inside the one character that all these marks make."""
    text = "\u0301" * 300_000
    begun = time.process_time()

    with pytest.raises(quotes.Refused):
        quotes.find(text + "I hear how heavy this is", "\u0301" * 9_000 + "x I hear")

    assert time.process_time() - begun < 20
