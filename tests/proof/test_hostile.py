"""More than ten thousand hostile inputs, counted: each is inert by every way in and out.

Texts go through the ways that need no database, each text through each of them. Files that are
nearly right go to every reader. It takes about two minutes of one core.
"""

import hashlib

import pytest

from tests.hostile.corpus import KINDS, corpus
from tests.hostile.files import READERS, spoiled
from tests.hostile.ways import WAYS

pytestmark = pytest.mark.proof

TEXTS = 6_000
FILES = 600  # for each reader
AT_A_TIME = 400


@pytest.fixture(scope="module")
def counted():
    """The hashes of all that was tried, by what it was."""
    return {"texts": set(), "files": set()}


@pytest.fixture(scope="module")
def texts():
    return corpus(TEXTS)


@pytest.mark.parametrize("way", WAYS)
def test_every_text_is_inert(way, texts, counted):
    faults = []
    for begin in range(0, len(texts), AT_A_TIME):
        faults += WAYS[way](texts[begin : begin + AT_A_TIME])

    counted["texts"] |= {
        hashlib.sha256(one.text.encode("utf-8", "surrogatepass")).digest() for one in texts
    }
    assert faults == []


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_every_file_is_taken_whole_or_refused_in_words(reader, tmp_path, counted):
    (tmp_path / "right").write_bytes(reader.base())
    reader.read(tmp_path / "right")
    refused = 0

    for raw in spoiled(reader.base(), FILES, seed=f"many|{reader.name}"):
        path = tmp_path / "file"
        path.write_bytes(raw)
        counted["files"].add(hashlib.sha256(raw).digest())
        try:
            reader.read(path)
        except reader.refusals as why:
            refused += bool(str(why).strip())

    assert refused > FILES // 2 or not reader.refusals


def test_more_than_ten_thousand_different_inputs_were_tried(counted):
    """Last: it counts what the tests above have tried."""
    tried = {what: len(hashes) for what, hashes in counted.items()}

    print(f"\nhostile inputs, all different: {tried}, of {len(KINDS) + 1} kinds of text")
    assert tried["texts"] == TEXTS
    assert sum(tried.values()) >= 10_000
