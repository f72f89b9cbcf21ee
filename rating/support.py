"""The support line at the foot of every page, by the country that somebody chose.

The lines are a file of the place, TOML or JSON, read once. See ``fixtures/support_lines.toml``.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

COUNTRY = re.compile(r"[A-Z]{2}")
NUMBER = re.compile(r"\+?[0-9](?:[ ()/-]{0,2}[0-9])*")
FIELDS = {"name", "line", "number", "url"}
LONGEST = 120


class BadLines(ValueError):
    """A file of support lines that cannot be used, with the fault and the way on."""


@dataclass(frozen=True)
class SupportLine:
    """Whom to call in one country. ``number`` as it is written, ``url`` to read more."""

    country: str
    name: str
    line: str
    number: str = ""
    url: str = ""

    @property
    def dials(self) -> str:
        """What a phone dials."""
        return re.sub(r"[^0-9+]", "", self.number)

    @property
    def site(self) -> str:
        """The name of the place that ``url`` leads to."""
        return urlsplit(self.url).netloc.removeprefix("www.")


def read_lines(path: Path) -> dict[str, SupportLine]:
    """The lines of a file by country, from A to Z of their names. Raises ``BadLines``."""
    try:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as why:
        raise BadLines(f"{path} cannot be read ({why.strerror}).") from None
    except ValueError as why:  # of the encoding, of TOML and of JSON alike
        raise BadLines(f"{path} is not {_kind(path)}: {why}.") from None
    if not isinstance(found, dict):
        raise BadLines(f"{path} holds no table of countries.")
    found.pop("checked", None)
    lines = [_line(path, country, given) for country, given in found.items()]
    return {line.country: line for line in sorted(lines, key=lambda line: line.name)}


def support_lines() -> Mapping[str, SupportLine]:
    """The lines of this site; none, where their file cannot be used."""
    return _kept(settings.SUPPORT_LINES_FILE)


def line_of(country: str) -> SupportLine | None:
    """The line of a country; none, where nothing is known of it: the site's own stands there."""
    return support_lines().get(country) if country else None


@register()
def check_support_lines(app_configs: Any, **_: Any) -> Sequence[CheckMessage]:
    """Whether the file of support lines can be used."""
    try:
        read_lines(settings.SUPPORT_LINES_FILE)
    except BadLines as why:
        return [
            Error(
                str(why),
                hint="Mend the file that SUPPORT_LINES_FILE names, or unset it. Until then every "
                "page shows SUPPORT_LINE.",
                id="rating.E001",
            )
        ]
    return []


@register()
def check_site_url(app_configs: Any, **_: Any) -> Sequence[CheckMessage]:
    """Whether a mail that no request asked for knows where its link leads."""
    if settings.MAIL and not settings.SITE_URL:
        return [
            Warning(
                "Nobody is written to when there is work again: the site's address is not known.",
                hint="Set SITE_URL to the address of the site, such as https://rate.example.org.",
                id="rating.W001",
            )
        ]
    return []


@lru_cache(maxsize=4)
def _kept(path: Path) -> Mapping[str, SupportLine]:
    try:
        return read_lines(path)
    except BadLines:
        return {}  # said when the site starts; a page is shown all the same


def _line(path: Path, country: str, given: Any) -> SupportLine:
    if not COUNTRY.fullmatch(country):
        raise BadLines(f"{path} names {country!r}; write a country as two capital letters, as GB.")
    if not isinstance(given, dict) or not all(isinstance(text, str) for text in given.values()):
        raise BadLines(f"{country} in {path} is no table of texts.")
    if unknown := given.keys() - FIELDS:
        raise BadLines(
            f"{country} in {path} has {min(unknown)!r}; there are: {', '.join(sorted(FIELDS))}."
        )
    line = SupportLine(country, **{"name": "", "line": "", **given})
    if not line.name.strip() or not line.line.strip():
        raise BadLines(f"{country} in {path} needs a name and a line.")
    if long := next((text for text in given.values() if len(text) > LONGEST), ""):
        raise BadLines(f"{country} in {path} has more than {LONGEST} letters in {long[:20]!r}.")
    if not (line.number or line.url):
        raise BadLines(f"{country} in {path} needs a number or a url.")
    if line.number and not NUMBER.fullmatch(line.number):
        raise BadLines(f"{country} in {path} has the number {line.number!r}; write digits.")
    if line.url and not (line.url.startswith("https://") and urlsplit(line.url).netloc):
        raise BadLines(f"{country} in {path} has the url {line.url!r}; begin it with https://.")
    return line


def _kind(path: Path) -> str:
    return "JSON" if path.suffix == ".json" else "TOML"
