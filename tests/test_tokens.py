"""What holds for the style sheets and scripts as they are written, without a browser."""

import re
from pathlib import Path

import pytest

BASE = Path(__file__).resolve().parent.parent
SITE = (BASE / "static/css/site.css").read_text()

GROUNDS = ("page", "surface", "sunken")
TINTS = ("accent-tint", "error-tint", "notice-tint", "quote", "quote2")
CHARTS = ("chart-1", "chart-2", "chart-3", "chart-4")
TEXT, MARK = 4.5, 3.0  # WCAG 2.2, 1.4.3 and 1.4.11

PAIRS = [
    *((text, on, TEXT) for text in ("ink", "soft") for on in (*GROUNDS, *TINTS, "band")),
    *((text, on, TEXT) for text in ("accent", "accent-hover") for on in (*GROUNDS, *TINTS)),
    *(("error", on, TEXT) for on in (*GROUNDS, "error-tint", "notice-tint")),
    *(("on-accent", on, TEXT) for on in ("accent", "accent-hover")),
    *(("ink", f"step-{level}", TEXT) for level in (0, 1, 2)),
    *(("surface", f"step-{level}", TEXT) for level in (3, 4, 5)),
    *(("edge", on, MARK) for on in (*GROUNDS, "accent-tint")),
    *(("focus", on, MARK) for on in (*GROUNDS, *TINTS, "line")),
    *(("notice-edge", on, MARK) for on in (*GROUNDS, "notice-tint")),
    *(("quote-line", on, MARK) for on in ("quote", "quote2")),
    *(("quote2-line", on, MARK) for on in ("quote", "quote2")),
    *((series, on, MARK) for series in CHARTS for on in (*GROUNDS, "band")),
]

#: What could join a response to what is hidden from raters.
HIDDEN = re.compile(
    r"\b(?:subjects?|runs?|waves?|trials?|pairs?|arms?|conditions?|dimensions?)\b", re.IGNORECASE
)
CODES = re.compile(r"\b(?:AWR|EMP|ACT|EQU|BND|ACC|SYS|INT|UNC)(?:-\d+-\w+)?\b")
STAFF = {
    "_being_made.html",
    "_beside_parted.html",
    "_judging.html",
    "api_tokens.html",
    "factor_anew.html",
    "judgements.html",
    "judges.html",
    "judges_beside.html",
    "_agreement.html",
    "_behind.html",
    "_not_yet.html",
    "_probes.html",
    "_report_pages.html",
    "_severity.html",
    "gate.html",
    "health.html",
    "parity.html",
    "results.html",
    "whole_report.html",
    "why.html",
    "_coverage.html",
    "_item_checks.html",
    "_item_figures.html",
    "_items_rated.html",
    "bank.html",
    "bank_of.html",
    "_breakdown.html",
    "_crossing.html",
    "_disputed.html",
    "_item_map.html",
    "_look_form.html",
    "agreement.html",
    "care.html",
    "draft.html",
    "draft_item.html",
    "effects.html",
    "freeze.html",
    "key.html",
    "names.html",
    "people.html",
    "raters.html",
    "readings.html",
    "report.html",
    "report_file.html",
    "unblind.html",
    "reviews.html",
    "_reviews_figure.html",
}
RATERS_GET = [
    BASE / "static/css/site.css",
    BASE / "static/css/settle.css",
    BASE / "static/css/becoming.css",
    BASE / "static/css/review.css",
    BASE / "static/css/bank.css",
    BASE / "static/js/room.js",
    BASE / "static/js/leave.js",
    BASE / "static/js/settle.js",
    BASE / "static/js/review.js",
    *sorted((BASE / "templates/account").glob("*.html")),
    *sorted(path for path in (BASE / "templates/rating").glob("*.html") if path.name not in STAFF),
]


def themes() -> dict[str, dict[str, str]]:
    """The colours of each theme, by the name of their token."""
    block = SITE.partition("/* Tokens: colours */")[2].partition("/* End of the colours. */")[0]
    light, _, dark = block.partition("@media screen and (prefers-color-scheme: dark)")
    token = re.compile(r"--([\w-]+): (#[0-9A-F]{6});")
    return {"light": dict(token.findall(light)), "dark": dict(token.findall(dark))}


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG 2.2 defines it, from 1 to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def declarations(css: str) -> list[str]:
    without_comments = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    return re.findall(r"[{;]\s*([\w-]+\s*:[^;{}]+)(?=;)", without_comments)


def words_of(text: str) -> str:
    """The text with the parts of every name apart, as in ``chosenLevel`` or ``level-chosen``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text)


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=5e-3)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_named_pair_of_colours_can_be_told_apart(theme: str) -> None:
    colours = themes()[theme]

    too_close = [
        f"{one} on {other}: {contrast(colours[one], colours[other]):.2f}"
        for one, other, least in PAIRS
        if contrast(colours[one], colours[other]) < least
    ]

    assert too_close == []


def test_both_themes_have_the_same_tokens() -> None:
    light, dark = themes().values()

    assert light.keys() == dark.keys()
    assert len(light) > 30


@pytest.mark.parametrize(
    "name", ["site.css", "staff.css", "settle.css", "becoming.css", "bank.css", "public.css"]
)
def test_colours_stand_in_the_token_block_alone(name: str) -> None:
    css = (BASE / "static/css" / name).read_text()
    rest = re.sub(
        r"/\* Tokens: colours \*/.*?/\* End of the colours\. \*/", "", css, flags=re.DOTALL
    )
    literal = re.compile(
        r"#[0-9a-f]{3,8}\b|\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color)\("
        r"|:.*\b(?:black|white|gr[ae]y|red|green|blue|yellow|orange|purple|brown|pink)\b",
        re.IGNORECASE,
    )

    assert [rule for rule in declarations(rest) if literal.search(rule)] == []


@pytest.mark.parametrize(
    "name", ["site.css", "staff.css", "settle.css", "becoming.css", "bank.css", "public.css"]
)
def test_a_style_sheet_asks_only_for_tokens_and_files_that_exist(name: str) -> None:
    css = (BASE / "static/css" / name).read_text()
    defined = set(re.findall(r"(--[\w-]+):", SITE))

    assert set(re.findall(r"var\((--[\w-]+)", css)) <= defined
    for file in re.findall(r'url\("([^"]+)"\)', css):
        assert (BASE / "static/css" / file).is_file(), file


@pytest.mark.parametrize("path", RATERS_GET, ids=lambda path: path.name)
def test_what_raters_fetch_names_nothing_that_is_hidden_from_them(path: Path) -> None:
    text = words_of(f"{path.name}\n{path.read_text()}")

    assert HIDDEN.findall(text) == []
    assert CODES.findall(text) == []


@pytest.mark.parametrize(
    "path", sorted((BASE / "templates").rglob("*.html")), ids=lambda path: path.name
)
def test_a_page_holds_no_style_or_script_of_its_own(path: Path) -> None:
    if path.name == "report_file.html":  # one file to keep, which no page loads
        return
    page = path.read_text()

    assert not re.search(r"<style|<script(?![^>]*\bsrc=)|\sstyle=|\son[a-z]+=", page)
