"""The operating guide says what is so."""

import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import yaml
from django.conf import settings as product

from docs import settings_table

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")


def test_the_table_of_settings_is_the_one_that_the_settings_make():
    # `python docs/settings_table.py --write` renews it.
    assert settings_table.with_table(PAGE) == PAGE


def test_no_setting_is_without_a_word_and_none_that_is_told_of_is_gone():
    every = {one.name: one for one in settings_table.settings_of()}

    assert [one.name for one in every.values() if not one.about] == []
    assert settings_table.WORDS.keys() <= every.keys()


def test_every_variable_that_the_code_reads_is_in_the_table():
    read = re.findall(r'env\w*\(\s*"(\w+)"', (ROOT / "compassion" / "settings.py").read_text())

    assert {one.name for one in settings_table.settings_of()} == set(read)
    for name in read:
        assert f"| `{name}` |" in PAGE


def test_what_the_guide_says_of_times_and_places_is_what_is_set():
    assert product.ACCOUNT_RATE_LIMITS["login"].startswith("120/m")
    assert product.ACCOUNT_RATE_LIMITS["login_failed"].endswith("5/5m/key")
    for path in ("/healthz", "/readyz"):
        assert path in PAGE


def test_every_command_of_the_guide_is_there():
    from django.core.management import get_commands

    named = set(re.findall(r"manage\.py (\w+)", PAGE))

    assert named <= get_commands().keys(), named - get_commands().keys()


def test_the_citation_names_the_version_and_licence_that_the_project_has():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert (cited["version"], cited["license"]) == (project["version"], project["license"])
    assert cited["cff-version"] == "1.2.0"


def test_every_file_that_the_architecture_and_contributing_pages_name_is_there():
    for page in ("docs/architecture.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for name in re.findall(r"`((?:runs|rating|compassion|tests|docs|static)/[\w/.]*)`", text):
            assert (ROOT / name).exists(), f"{page}: {name}"


def test_the_picture_of_the_architecture_says_in_words_what_it_shows():
    picture = ElementTree.parse(ROOT / "docs" / "architecture.svg").getroot()
    name = "{http://www.w3.org/2000/svg}"

    assert picture.get("role") == "img"
    assert picture.findtext(f"{name}title")
    assert len(picture.findtext(f"{name}desc", "")) > 200
    assert "prefers-color-scheme: dark" in picture.findtext(f"{name}style", "")
