"""Whether a page, a file or a log is what it would be if a hostile text were any other text."""

import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from urllib.parse import urlsplit

from tests.hostile.corpus import MARK

FOUND = re.compile(MARK, re.IGNORECASE)
# What our own pages are made of. Anything else came from somewhere else.
OURS = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "link",
        "script",
        "body",
        "header",
        "nav",
        "main",
        "footer",
        "section",
        "article",
        "aside",
        "div",
        "p",
        "span",
        "a",
        "ul",
        "ol",
        "li",
        "dl",
        "dt",
        "dd",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "table",
        "caption",
        "colgroup",
        "col",
        "thead",
        "tbody",
        "tfoot",
        "tr",
        "th",
        "td",
        "form",
        "fieldset",
        "legend",
        "label",
        "input",
        "textarea",
        "select",
        "option",
        "optgroup",
        "button",
        "details",
        "summary",
        "dialog",
        "kbd",
        "time",
        "strong",
        "em",
        "s",
        "mark",
        "code",
        "pre",
        "blockquote",
        "q",
        "cite",
        "hr",
        "br",
        "small",
        "abbr",
        "figure",
        "figcaption",
        "output",
        "progress",
        "meter",
        "ins",
        "del",
        "wbr",
        "img",
        "noscript",
        "svg",
        "g",
        "path",
        "rect",
        "circle",
        "line",
        "text",
        "tspan",
        "desc",
        "defs",
        "clippath",
        "polyline",
        "polygon",
        "style",
        "b",
        "i",
        "sub",
        "sup",
    ]
)
ADDRESSES = frozenset(
    {"href", "src", "action", "formaction", "xlink:href", "poster", "data", "srcset"}
)
# Where a text may stand in an attribute: it is a value there, and nothing reads it as anything else.
VALUES = frozenset({"value", "title", "aria-label", "alt", "content", "placeholder", "lang"})
AWAY = ("https://findahelpline.com",)


class _Page(HTMLParser):
    def __init__(self, hosts: tuple[str, ...], *, styled: bool = False) -> None:
        super().__init__(convert_charrefs=True)
        self.styled = styled
        self.hosts = hosts
        self.faults: list[str] = []
        self.inside = ""
        self.drawing = 0
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in OURS:
            self.faults.append(f"<{tag}> is no element of ours")
        self.drawing += tag == "svg"
        if tag == "style" and not self.drawing and not self.styled:
            self.faults.append("a <style> outside a picture")
        self.inside = tag if tag in ("script", "style") else ""
        for name, value in attrs:
            self._attribute(tag, name, value or "")
        if tag == "script" and not dict(attrs).get("src"):
            self.faults.append("a script without an address")

    def _attribute(self, tag: str, name: str, value: str) -> None:
        where = f"<{tag} {name}={value[:60]!r}>"
        if FOUND.search(name) or name.startswith("on"):
            self.faults.append(f"{where}: an attribute from a text")
        if name in ADDRESSES and not self._leads_home(tag, value):
            self.faults.append(f"{where}: leads away")
        elif (
            name not in VALUES | ADDRESSES and not name.startswith("data-") and FOUND.search(value)
        ):
            self.faults.append(f"{where}: a text where the page is told what to do")
        if name.startswith(("hx-", "data-hx-")) and FOUND.search(value):
            self.faults.append(f"{where}: a text that htmx reads")

    def _leads_home(self, tag: str, address: str) -> bool:
        if address.startswith(self.hosts) and tag == "a":
            return True
        parts = urlsplit(address)
        home = not parts.netloc and parts.scheme in ("", "tel", "mailto")
        return home and (
            parts.scheme != "" or address[:1] in ("/", "#", "?", "") or ":" not in address
        )

    def handle_endtag(self, tag: str) -> None:
        self.drawing -= tag == "svg"
        self.inside = ""

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"a comment: {data[:60]!r}")

    def handle_decl(self, decl: str) -> None:
        if decl.lower() != "doctype html":
            self.faults.append(f"a declaration: {decl[:60]!r}")

    def handle_pi(self, data: str) -> None:
        self.faults.append(f"an instruction: {data[:60]!r}")

    def unknown_decl(self, data: str) -> None:
        self.faults.append(f"a section: {data[:60]!r}")

    def handle_data(self, data: str) -> None:
        if self.inside and FOUND.search(data):
            self.faults.append(f"a text in a {self.inside}: {data[:60]!r}")
        elif not self.inside:
            self.words.append(data)


def page_faults(html: str, hosts: tuple[str, ...] = AWAY, *, styled: bool = False) -> list[str]:
    """What on a page came from a text and is more than its words.

    ``styled`` is a file that stands alone, and so brings its style with it.
    """
    page = _Page(hosts, styled=styled)
    page.feed(html)
    page.close()
    return page.faults


def words_of(html: str) -> str:
    """The words of a page, as its reader gets them."""
    page = _Page(AWAY)
    page.feed(html)
    page.close()
    return "".join(page.words)


def in_every(pages: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The faults of many pages, each with the name of its page."""
    for name, html in pages:
        yield from (f"{name}: {fault}" for fault in page_faults(html))
