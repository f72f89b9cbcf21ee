"""The docs lead where they say, and name what exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.M | re.S)
COMMAND = re.compile(r"manage\.py ([a-z_]+)(?: ([a-z]+)\b(?![.=/]))?")
SETTING = re.compile(r"`([A-Z][A-Z]+(?:_[A-Z0-9]+)+)`")
# Read from the environment by others than the settings, or names in files of other programs.
NOT_OURS = re.compile(r"(OPENAI|ANTHROPIC)_API_KEY")


def names(page: Path) -> str:
    return str(page.relative_to(ROOT))


every_page = pytest.mark.parametrize("page", PAGES, ids=names)


def heading_ids(page: Path) -> set[str]:
    """The anchors of a page's headings, as hosts of Markdown make them."""
    text = FENCED.sub("", page.read_text())
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {title.strip().replace(" ", "-") for title in plain}


def links(page: Path) -> Iterator[tuple[str, str, str]]:
    yield from LINK.findall(FENCED.sub("", page.read_text()))


@every_page
def test_every_link_leads_to_a_file_and_to_a_heading_of_it(page):
    broken = []
    for _, _, target in links(page):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in heading_ids(file)):
            broken.append(target)
    assert broken == []


@every_page
def test_every_picture_is_told_in_words(page):
    assert [target for mark, words, target in links(page) if mark and len(words) < 10] == []


@every_page
def test_every_command_exists(page):
    commands = get_commands()
    unknown = []
    for name, part in COMMAND.findall(page.read_text()):
        if name not in commands:
            unknown.append(name)
        elif part and commands[name] in ("rating", "runs"):
            parser = load_command_class(commands[name], name).create_parser("manage.py", name)
            parts = next((a.choices for a in parser._actions if isinstance(a.choices, dict)), None)
            if parts is not None and part not in parts:
                unknown.append(f"{name} {part}")
    assert unknown == []


@every_page
def test_every_setting_exists(page):
    text = (ROOT / "compassion" / "settings.py").read_text()
    text += (ROOT / "docker-compose.yml").read_text() + (ROOT / ".env.example").read_text()
    named = {name for name in SETTING.findall(page.read_text()) if not NOT_OURS.match(name)}
    assert sorted(name for name in named if name not in text and not hasattr(settings, name)) == []


def test_the_index_names_every_page():
    index = (ROOT / "docs" / "README.md").read_text()
    missing = [
        str(page.relative_to(ROOT / "docs"))
        for page in (ROOT / "docs").rglob("*.md")
        if page.name != "README.md" and f"({page.relative_to(ROOT / 'docs')})" not in index
    ]
    assert missing == []
