"""The audit: what it lets in, what it refuses, and that it never says it looked where it did not."""

import json
from dataclasses import dataclass, field
from email.message import Message
from importlib.metadata import distributions
from pathlib import Path

import pytest

from tests import audit
from tests.audit import (
    Rules,
    font_faults,
    is_allowed,
    licence_faults,
    pin_faults,
    read_audit,
    stated,
)

RULES = Rules.of((audit.ROOT / "pyproject.toml").read_text())


@dataclass
class Package:
    """A package that says of itself what a test wants."""

    name: str
    version: str = "1"
    metadata: Message = field(default_factory=Message)


def package(name: str, **said: str) -> Package:
    made = Package(name)
    for header, value in said.items():
        made.metadata[header.replace("_", "-")] = value
    return made


@pytest.mark.proof
def test_what_is_installed_is_allowed_and_every_pin_has_its_hash():
    assert list(licence_faults(list(distributions()), RULES)) == []
    assert list(pin_faults(audit.ROOT)) == []
    assert list(font_faults(audit.ROOT)) == []
    assert list(audit.script_faults(audit.ROOT)) == []


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-or-later", False),
        ("(Apache-2.0 OR AGPL-3.0-only) AND BSD-3-Clause", True),
        ("AGPL-3.0-only", False),
        ("LGPL-2.1-only", False),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("a licence of our own", False),
        ("", False),
    ],
)
def test_a_licence_is_read_as_it_is_meant(expression, allowed):
    assert is_allowed(expression, RULES.allowed) is allowed


def test_of_several_classifiers_each_must_be_allowed():
    both = package("x", Classifier="License :: OSI Approved :: MIT License")
    both.metadata["Classifier"] = "License :: OSI Approved :: GNU General Public License v3 (GPLv3)"

    assert not is_allowed(stated(both), RULES.allowed)


def test_a_package_without_a_licence_is_told_and_an_exception_nobody_needs_too():
    rules = Rules(frozenset({"MIT"}), {"gone": "it was here once"})

    told = list(licence_faults([package("silent"), package("fine", License="MIT")], rules))  # type: ignore[list-item]

    assert told == [
        "silent 1: its licence is not stated.",
        "gone: stands among the exceptions in pyproject.toml, and needs none.",
    ]


def test_nothing_under_the_gpl_is_let_through():
    assert not any("GPL" in name for name in RULES.allowed)
    let_through = {name for name, why in RULES.exceptions.items() if "GPL" in why}
    assert let_through == {"psycopg", "psycopg-binary"}


def test_a_pin_without_a_hash_and_the_address_of_an_index_are_found(tmp_path):
    (tmp_path / "requirements.txt").write_text("a==1 \\\n    --hash=sha256:00\nb==2\n")
    (tmp_path / "requirements-dev.txt").write_text("--index" + "-url https://example.org\n")

    told = list(pin_faults(tmp_path))

    assert any("b==2 has no version with a hash" in fault for fault in told)
    assert any("holds an address" in fault for fault in told)


def test_a_font_without_its_licence_is_found(tmp_path):
    (tmp_path / "fonts").mkdir()
    (tmp_path / "fonts" / "Own-Regular.ttf").write_bytes(b"")

    assert list(font_faults(tmp_path)) == [
        f"{Path('fonts/Own-Regular.ttf')}: no SIL OPEN FONT LICENSE stands beside it."
    ]


def test_a_package_that_was_skipped_was_not_looked_up():
    told = {
        "dependencies": [
            {"name": "a", "skip_reason": "Dependency not found on PyPI"},
            {"name": "b", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]},
        ]
    }

    looked = read_audit("pypi", told)

    assert (looked.asked, looked.unknown) == (1, ("a",))
    assert looked.found == ("b 1: CVE-1, mended in 2",)


@pytest.mark.proof
def test_where_no_source_answers_it_says_so_loudly_and_does_not_fail(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(audit, "vulnerabilities", lambda: None)
    monkeypatch.setattr(audit, "SBOM", audit.ROOT / "var" / "sbom-of-a-test.json")

    assert audit.main() == 0

    said = capsys.readouterr().out
    assert "*** NOT AUDITED" in said
    assert "looked up" not in said
    parts = json.loads(audit.SBOM.read_text())["components"]
    audit.SBOM.unlink()
    assert any(part["purl"].startswith("pkg:pypi/django@") for part in parts)


@pytest.mark.proof
def test_a_known_vulnerability_ends_it(monkeypatch, capsys):
    looked = audit.Looked("pypi", 9, (), ("b 1: CVE-1, mended in 2",))
    monkeypatch.setattr(audit, "vulnerabilities", lambda: looked)
    monkeypatch.setattr(audit, "write_sbom", lambda path: 9)

    assert audit.main() == 1
    assert "CVE-1" in capsys.readouterr().err
