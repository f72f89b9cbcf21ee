"""People at their browsers, over HTTP: they keep drafts, rate, skip, undo, and try again.

What a browser would do with an answer is done here: a redirect is followed, a page that gives back
what was typed is sent again as it stands, and where nothing answers the same form is sent once more.
"""

import html
import random
import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser

import httpx2

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
CODE = re.compile(r'data-state="card" data-code="([0-9a-f-]{36})"')
STATE = re.compile(r'id="room" data-state="([a-z]+)"')
VERSION = re.compile(r'name="version" value="([^"]*)"')
CAME_BACK = re.compile(r'id="came-back".*?<div id="response-end">', re.DOTALL)
UNDO = re.compile(r'id="undo-form" method="post" action="([^"]+)"')
GUESS = re.compile(r'id="guess-form" method="post" action="([^"]+)"')
LEVELS = re.compile(r'name="level" value="(\d)"')
EDGES = re.compile(r'<span class="visually-hidden quote-edge".*?</span>')
TAGS = re.compile(r"<[^>]*>")
NOT_TWICE = "Nothing was stored twice."
GIVEN_BACK = "You gave this response back"
HEADING = re.compile(r"<h1[^>]*>([^<]*)</h1>")


class Offered(HTMLParser):
    """The form of a page that gives back what was typed, as a browser would send it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action, self.fields, self._text = "", dict[str, list[str]](), ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "form":
            self.action = found["action"]
        elif tag == "input":
            self.fields.setdefault(found["name"], []).append(found.get("value") or "")
        elif tag == "textarea":
            self._text = found["name"]
            self.fields.setdefault(self._text, []).append("")

    def handle_data(self, data):
        if self._text:
            self.fields[self._text][-1] += data

    def handle_endtag(self, tag):
        if tag == "textarea":
            self.fields[self._text][-1] = self.fields[self._text][-1].removeprefix("\n")
            self._text = ""


class GaveUp(Exception):
    """Nothing answered for so long that a person would have gone home."""


@dataclass
class Visitor:
    """One rater. ``sent`` is every rating they submitted, by the words in its note, and its end."""

    site: str
    email: str
    password: str
    seed: int
    patience: float = 60.0
    script: bool = False
    # The levels they choose from, by chance; none: all that the card offers.
    leaning: tuple[int, ...] = ()
    did: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    sent: dict[str, str] = field(default_factory=dict)
    took: list[float] = field(default_factory=list)
    faults: list[tuple[int, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.client = httpx2.Client(base_url=self.site, follow_redirects=True, timeout=120)
        self.tab = f"tab{self.seed}"
        self.page = ""

    # What a browser does

    def ask(self, method: str, url: str, data: Mapping[str, object] | None = None) -> int:
        """Send it until something answers; the page that came is in ``page``. Returns its status."""
        until = time.monotonic() + self.patience
        headers = {"HX-Request": "true"} if self.script and method == "POST" else {}
        while time.monotonic() < until:
            began = time.perf_counter()
            try:
                answer = self.client.request(method, url, data=data, headers=headers)
            except httpx2.TransportError as why:
                self.met[type(why).__name__] += 1
                time.sleep(0.2 + self.chance.random() / 2)
                continue
            if answer.status_code == 429:
                self.met["429"] += 1
                time.sleep(1 + self.chance.random())
                continue
            if answer.status_code < 500:
                self.took.append(time.perf_counter() - began)
                self.page = answer.text
                out = answer.status_code == 401 or 'id="id_login"' in self.page
                if out and url != "/sign-in/":
                    self.met["signed out"] += 1
                    self.sign_in()
                    # As the page does by script, or by the form that it gives back.
                    data = {**data, "csrfmiddlewaretoken": self.token} if data else data
                    continue
                return answer.status_code
            self.met[str(answer.status_code)] += 1
            name = answer.headers.get("X-Request-ID", "")
            self.faults.append((answer.status_code, name, answer.text))
            if method == "POST" and "Send it again" in answer.text:
                form = Offered(answer.text)
                assert form.action == url, "it goes where it was meant to go"
                url, data = form.action, form.fields
            time.sleep(0.2 + self.chance.random() / 2)
        raise GaveUp(f"{method} {url}: {self.met}")

    def post(self, url: str, **fields: object) -> int:
        return self.ask("POST", url, {**fields, "csrfmiddlewaretoken": self.token})

    @property
    def token(self) -> str:
        found = TOKEN.search(self.page)
        if found:
            self._token = found[1]
        return self._token

    @property
    def state(self) -> str:
        found = STATE.search(self.page)
        return found[1] if found else ""

    # What a rater does

    def sign_in(self) -> None:
        while True:
            self.ask("GET", "/sign-in/")
            if 'id="id_login"' not in self.page:
                return  # signed in already: the answer that said so was lost
            fields = {"login": self.email, "password": self.password}
            self.post("/sign-in/", **fields)
            if 'id="id_login"' not in self.page:
                self.did["sign in"] += 1
                return

    def sign_out(self) -> None:
        self.ask("GET", "/")
        self.post("/sign-out/")
        self.client.cookies.clear()
        self.did["sign out"] += 1

    def open_a_card(self) -> str:
        """The code of the card in hand, or of the next; empty where there is none."""
        self.ask("GET", "/rate/")
        if self.state != "card":
            self.post("/rate/next/")
            if self.state == "announced":
                self.post("/rate/next/", topic="other")
            elif self.state == "rest":
                self.post("/rate/next/", rest="later")
            if self.state == "card" and self.script:
                self.ask("GET", "/rate/")
        found = CODE.search(self.page)
        return found[1] if found else ""

    def words(self) -> str:
        """Some words of the response, as they stand on the page."""
        block = CAME_BACK.search(self.page)
        assert block is not None, self.page[:500]
        shown = EDGES.sub("", block[0].partition(">")[2])
        text = html.unescape(TAGS.sub("", shown))
        every = text.split()
        begin = self.chance.randrange(max(1, len(every) - 6))
        return " ".join(every[begin : begin + 6])

    def card_fields(self) -> dict[str, object]:
        version = VERSION.search(self.page)
        return {"tab": self.tab, "version": version[1] if version else ""}

    def draft(self, code: str) -> None:
        self.did["draft"] += 1
        fields = self.card_fields() | {"note": f"a draft of {self.seed}", "level": "2"}
        self.post(f"/rate/{code}/", do="save", **fields)

    def draft_in_two_tabs(self, code: str) -> None:
        """The other tab saves first, and then this one over it."""
        self.did["two tabs"] += 1
        mine = self.card_fields()
        self.post(f"/rate/{code}/", do="save", **{**mine, "tab": f"{self.tab}b", "note": "other"})
        status = self.post(f"/rate/{code}/", do="save", **{**mine, "note": "this one"})
        assert status in (200, 303, 409), status
        if status == 409:
            self.met["409 two tabs"] += 1
            self.post(f"/rate/{code}/", do="mine:save", **{**mine, "note": "this one"})

    def skip(self, code: str, reason: str = "rather-not") -> None:
        self.did["skip"] += 1
        self.post(f"/rate/{code}/skip/", reason=reason, note="")

    def submit(self, code: str, level: int | None = None, twice: bool = False) -> str:
        """Rate the card; how it ended: "rated", "already" or "given back"."""
        note = f"{self.email} {len(self.sent)}"
        self.sent[note] = "not answered"
        levels = [int(one) for one in LEVELS.findall(self.page)] or [3]
        card = self.page
        fields = self.card_fields() | {
            "words": self.words(),
            "note": note,
            "level": str(level or self.chance.choice(self.leaning or levels)),
            "active_seconds": "20",
        }
        self.did["submit"] += 1
        status = self.post(f"/rate/{code}/", do="mine:submit", **fields)
        while status == 422:  # the words stand there twice: others do not
            self.met["422"] += 1
            assert self.met["422"] < 100
            self.page, before = card, self.page
            fields["words"] = self.words()
            self.page = before
            status = self.post(f"/rate/{code}/", do="mine:submit", **fields)
        if status == 409:
            self.met["409"] += 1
            given_back = GIVEN_BACK in self.page
            assert given_back or NOT_TWICE in self.page, HEADING.findall(self.page)
            self.sent[note] = "given back" if given_back else "already"
        else:
            assert status == 200, (status, HEADING.findall(self.page), self.met, self.did)
            self.sent[note] = "rated"
            if twice:
                again = self.post(f"/rate/{code}/", do="mine:submit", **fields)
                assert again == 409
        if found := GUESS.search(self.page):
            self.did["guess"] += 1
            self.post(found[1], do="later")
        return self.sent[note]

    def undo(self) -> bool:
        found = UNDO.search(self.page)
        if found is None:
            return False
        self.did["undo"] += 1
        self.post(found[1])
        return True

    def turn(self) -> bool:
        """One card, whatever is done with it; False where there was none."""
        code = self.open_a_card()
        if not code:
            self.did["no card"] += 1
            return False
        act = self.chance.random()
        if act < 0.06:
            self.skip(code, "later" if self.chance.random() < 0.5 else "rather-not")
            return True
        if act < 0.3:
            self.draft(code)
            self.ask("GET", "/rate/")
        elif act < 0.4:
            self.draft_in_two_tabs(code)
            self.ask("GET", "/rate/")
        if CODE.search(self.page) is None:
            return True
        self.submit(CODE.search(self.page)[1], twice=act > 0.95)  # type: ignore[index]
        if 0.85 < act < 0.92:
            self.undo()
        return True
