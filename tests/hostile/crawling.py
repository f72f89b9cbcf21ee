"""A reader of the whole site: follows every link and every form that a page offers."""

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

from django.http.response import HttpResponseBase
from django.test import Client

from tests.hostile.inert import page_faults

HERE = "http://testserver"
LEAVES = ("/sign-out/", "/password/change/")


@dataclass
class Form:
    action: str
    method: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)  # what somebody would write into


class Reader(HTMLParser):
    """What a page offers to follow, and whether it says what every page must."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[str] = []
        self.forms: list[Form] = []
        self.by_id: dict[str, Form] = {}
        self.tags: set[str] = set()
        self.lang = ""
        self.title = ""
        self.open: list[str] = []
        self.select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self.open.append(tag)
        if tag == "html":
            self.lang = said.get("lang", "")
        for name in ("href", "src"):
            if name in said:
                self.links.append(said[name])
        if tag == "form":
            form = Form(said.get("action", ""), said.get("method", "get").lower())
            self.forms.append(form)
            self.by_id[said.get("id", "")] = form
        self._field(tag, said)

    def _field(self, tag: str, said: dict[str, str]) -> None:
        form = self.by_id.get(said["form"]) if "form" in said else (self.forms or [None])[-1]
        if tag == "option" and self.select and form:
            form.fields.append((self.select, said.get("value", "")))
            self.select = ""
        if tag not in ("input", "textarea", "select", "button") or not said.get("name") or not form:
            return
        name, kind = said["name"], said.get("type", "")
        if tag == "select":
            self.select = name
        elif tag == "textarea" or (
            tag == "input" and kind in ("", "text", "email", "number", "search")
        ):
            form.typed.append(name)
        elif kind != "file":
            form.fields.append((name, said.get("value", "on")))

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "title" and "svg" not in self.open:
            self.title += data

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass


@dataclass
class Crawl:
    """All pages that somebody reaches by links and forms, and what is wrong with any of them."""

    client: Client
    texts: Iterator[str]
    hidden: frozenset[str] = frozenset()
    most: int = 250
    seen: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    shapes: set[str] = field(default_factory=set)  # addresses without what tells rows apart
    posted: int = 0

    def read(self, start: str = "/") -> None:
        waiting = deque([(start, "the start")])
        forms: dict[tuple[str, tuple[str, ...]], tuple[str, Form]] = {}
        while waiting and len(self.seen) < self.most:
            path, found_on = waiting.popleft()
            if path in self.seen:
                continue
            self.seen.add(path)
            answer = self.client.get(path)
            page = self._judge("GET", path, answer, linked_from=found_on)
            if 300 <= answer.status_code < 400:
                self._follow(answer["Location"], path, path, waiting)
            if page is None:
                continue
            for link in page.links:
                self._follow(link, path, path, waiting)
            for form in page.forms:
                names = tuple(sorted({name for name, _ in form.fields} | set(form.typed)))
                forms.setdefault((_shape(form.action or path), names), (path, form))
        for path in [*dict.fromkeys(self.shapes)]:
            self._ask(path, forms)
        for path, form in forms.values():
            self._send(path, form)

    def _follow(self, link: str, base: str, found_on: str, waiting: deque[tuple[str, str]]) -> None:
        parts = urlsplit(urljoin(HERE + base, link))
        if f"{parts.scheme}://{parts.netloc}" != HERE:
            return  # where a page may lead elsewhere, ``page_faults`` says
        if parts.path.startswith(("/static/", *LEAVES)):
            return
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        # Of many rows with a page each, a few stand for all.
        shape = _shape(path)
        if sum(_shape(one) == shape for one in self.seen) < 4:
            waiting.append((path, found_on))
            self.shapes.add(parts.path)

    def _ask(self, path: str, forms: dict[tuple[str, tuple[str, ...]], tuple[str, Form]]) -> None:
        """The page with hostile words in each parameter that it knows, and in one it does not."""
        names = {"unknown", "next", "page", "by"}
        for one in self.seen:
            if urlsplit(one).path == path:
                names |= {
                    name for name, _ in parse_qsl(urlsplit(one).query, keep_blank_values=True)
                }
        for at, form in forms.values():
            if form.method == "get" and urlsplit(form.action or at).path in ("", path):
                names |= {name for name, _ in form.fields} | set(form.typed)
        asked = f"{path}?{urlencode({name: next(self.texts) for name in sorted(names)}, errors='replace')}"
        self._judge("GET", asked, self.client.get(asked, headers={"Referer": HERE + path}))

    def _send(self, path: str, form: Form) -> None:
        """A form as it came, with hostile words wherever something can be typed; then all hostile."""
        action = urlsplit(urljoin(HERE + path, form.action)).path
        if action.startswith(LEAVES):
            return
        plausible = [*form.fields, *((name, next(self.texts)) for name in form.typed)]
        strange = [(name, next(self.texts)) for name in {name for name, _ in plausible}]
        for fields in (strange, plausible):
            sent: dict[str, list[str]] = {}
            for name, value in fields:
                sent.setdefault(name, []).append(value)
            if form.method == "post":
                self.posted += 1
                answer = self.client.post(action, sent)
            else:
                answer = self.client.get(action, sent)
            self._judge(form.method.upper(), action, answer)

    def _judge(
        self, method: str, path: str, answer: HttpResponseBase, *, linked_from: str = ""
    ) -> Reader | None:
        where = f"{method} {path[:120]}"
        if answer.status_code >= 500:
            self.faults.append(f"{where}: {answer.status_code}")
        if linked_from and answer.status_code in (400, 404, 405, 410):
            self.faults.append(f"{where}: {answer.status_code}, by a link on {linked_from}")
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        text = body.decode(errors="replace")
        said = text + repr(dict(answer.headers))
        for mark in self.hidden:
            if mark in said and mark not in path:
                self.faults.append(f"{where}: shows {mark}, which is hidden")
        kind = answer.get("Content-Type", "")
        if kind.startswith("application/json"):
            json.loads(text, parse_constant=lambda name: self.faults.append(f"{where}: {name}"))
        if not kind.startswith("text/html") or not text.strip():
            return None
        self.faults += [
            f"{where}: {fault}" for fault in page_faults(text, styled="report.html" in path)
        ]
        page = Reader()
        page.feed(text)
        page.close()
        if 200 <= answer.status_code < 300 or answer.status_code >= 400:
            missing = [
                name
                for name, there in (
                    ("title", page.title.strip()), ("lang", page.lang), ("h1", "h1" in page.tags),
                )
                if not there
            ]  # fmt: skip
            if missing and "<html" in text:
                self.faults.append(f"{where}: has no {', '.join(missing)}")
        return page


def _shape(path: str) -> str:
    """An address without what tells one row from another."""
    bare = urlsplit(path)
    names = ",".join(sorted({name for name, _ in parse_qsl(bare.query, keep_blank_values=True)}))
    plain = re.sub(
        r"[0-9a-f]{8}-[0-9a-f-]{27}|(?<=/)\d+(?=/)|items/[^/]+|draft/[^/]+", "*", bare.path
    )
    return f"{plain}?{names}"
