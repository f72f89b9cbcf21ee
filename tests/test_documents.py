"""What the documents on security name is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODEL = ROOT / "docs" / "threat-model.md"


def test_every_test_that_the_threat_model_names_is_there():
    named = set(re.findall(r"`(test_\w+)`", MODEL.read_text()))
    there = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text())
    }

    assert len(named) > 30
    assert named <= there, sorted(named - there)


def test_every_threat_says_what_shows_that_it_is_stopped_and_what_stays_open():
    threats = re.split(r"^### ", MODEL.read_text(), flags=re.MULTILINE)[1:]

    assert [int(re.match(r"T(\d+)\.", one)[1]) for one in threats] == [*range(1, len(threats) + 1)]
    assert all("Shown by `test_" in one and "*Open*: " in one for one in threats)


def test_the_way_to_report_a_fault_names_no_address():
    text = (ROOT / "SECURITY.md").read_text()

    assert "private security advisory" in text
    assert not re.search(r"\S+@\S+\.\w|https?://", text)
