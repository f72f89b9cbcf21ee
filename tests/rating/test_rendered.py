"""A response as its Markdown means it: what is understood, and that nothing else gets through."""

from html.parser import HTMLParser

import pytest
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from rating.rendered import HEADINGS, Tag, Words, rendered
from tests.rating.hostile import HOSTILE

ALLOWED = {
    "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "blockquote", "pre", "hr", "div", "span",
    "table", "thead", "tbody", "tr", "th", "td", "strong", "em", "s", "code", "button",
}  # fmt: skip
ATTRIBUTES = {
    "dir", "lang", "class", "id", "tabindex", "start", "scope", "role", "aria-label", "data-from",
    "type", "form", "name", "value",
}  # fmt: skip
VOID = {"hr"}
STYLES = ("strong", "emphasis", "struck", "code", "link", "picture")


class Reader(HTMLParser):
    """What a browser would find on a page: its tags, its attributes and its words."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def outline(text: str) -> str:
    """The steps in one line, with the words and, behind a colon, how they look."""
    return "".join(
        f"<{'' if step.opens else '/'}{step.name}>"
        if isinstance(step, Tag)
        else step.text + "".join(f":{style}" for style in STYLES if getattr(step, style))
        for step in rendered(text)
    )


def page_of(text: str) -> Reader:
    html = render_to_string(
        "rating/_rendered.html", {"card": {"rendered": rendered(text), "language": "en"}}
    )
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One line\nand the next.\n\nThen.", "<p>One line\nand the next.</p><p>Then.</p>"),
        ("so **very _much_** of `*it*`", "<p>so very :strongmuch:strong:emphasis of *it*:code</p>"),
        ("***both*** and ~~neither~~", "<p>both:strong:emphasis and neither:struck</p>"),
        ("**open and 2 * 3 and snake_case_name", "<p>**open and 2 * 3 and snake_case_name</p>"),
        (r"\*not\* at all", "<p>*not* at all</p>"),
        ("[a **true** way](https://x.example/a_(b))", "<p>a :linktrue:strong:link way:link</p>"),
        ("![a cat](cat.png) ![](dog.png)", "<p>a cat:picture without words:picture</p>"),
        ("1. one\n2. two\n   - in\n", "<ol><li>one</li><li>two<ul><li>in</li></ul></li></ol>"),
        ("- a\n\n  more\n\nafter", "<ul><li>a<p>more</p></li></ul><p>after</p>"),
        ("> said\n> - so\n\n> again", "<blockquote><p>said</p><ul><li>so</li></ul></blockquote>"
         "<blockquote><p>again</p></blockquote>"),
        ("```py\nx = *a*\n\ny\n```\nend", "<pre>x = *a*\n\ny</pre><p>end</p>"),
        ("```\nnever closed", "<pre>never closed</pre>"),
        ("one\n---\ntwo", "<p>one</p><hr><p>two</p>"),
        ("| a | |\n|--|:-:|\n| **1** | 2 \\| 3 |\nend", "<table><thead><tr><th>a</th><td></td></tr>"
         "</thead><tbody><tr><td>1:strong</td><td>2 | 3</td></tr></tbody></table><p>end</p>"),
    ],
)  # fmt: skip
def test_markdown_becomes_what_it_means(text, expected):
    assert outline(text) == expected


def test_no_level_of_heading_is_left_out_and_none_is_above_the_third():
    names = [
        step.name
        for step in rendered("### c\n# a\n#### d\n## b\n##### e\n###### f\n###### #\n")
        if isinstance(step, Tag) and step.opens
    ]

    assert names == ["h3", "h3", "h4", "h4", "h5", "h6"]


def test_a_numbered_list_begins_where_the_response_begins_it():
    [start] = [s.start for s in rendered("3. three\n4. four") if isinstance(s, Tag) and s.start]

    assert start == 3


def test_every_block_says_where_in_the_text_it_starts():
    text = "# A\n\none\n---\n- b\n\ntwo"

    places = [s.at for s in rendered(text) if isinstance(s, Tag) and s.opens and s.at is not None]

    assert [text[at] for at in places] == ["#", "o", "-", "t"]


def test_a_table_stands_in_a_named_region_that_the_keyboard_reaches():
    html = render_to_string(
        "rating/_rendered.html",
        {"card": {"rendered": rendered("a|b\n-|-\n1|2\n\nc|d\n-|-\n"), "language": "en"}},
    )

    for number in (1, 2):
        region = f'role="region" aria-label="Table {number} of the response" tabindex="0"'
        assert html.count(region) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_in_a_response_becomes_part_of_the_page(name):
    text = HOSTILE[name]

    page = page_of(text)

    assert page.tags <= ALLOWED
    assert page.attributes <= ATTRIBUTES


def test_a_response_with_too_many_marks_is_not_shown_in_part():
    assert "too many marks" in "".join(page_of(HOSTILE["300 kB of '# x\\n'"]).words)
    assert rendered("A long word of comfort. " * 12_000)


def test_html_is_text_like_any_other():
    text = '<script>alert(1)</script> <b hx-get="/x" onclick="y()">bold</b> &lt;i&gt; {{ user }}'

    assert text in "".join(page_of(text).words)


def test_directions_are_kept_and_each_block_finds_its_own():
    text = "left \u202eto right\n\nשלום עולם"

    html = render_to_string(
        "rating/_rendered.html", {"card": {"rendered": rendered(text), "language": "he"}}
    )

    assert "left \u202eto right" in html
    assert html.count('<p dir="auto" data-from=') == 2


marks = st.text(alphabet=st.sampled_from(list("ab *_~`#>-+1.)|[]()!\\\n\té👍")), max_size=120)


@given(marks | st.text(max_size=200))
def test_what_opens_also_ends_and_headings_keep_their_order(text):
    open_tags: list[str] = []
    deepest = 2
    for step in rendered(text):
        if isinstance(step, Words):
            assert step.text
        elif step.name == "hr":
            continue
        elif step.opens:
            open_tags.append(step.name)
            if step.name in HEADINGS:
                assert int(step.name[1]) <= deepest + 1
                deepest = int(step.name[1])
        else:
            assert open_tags.pop() == step.name
    assert open_tags == []


@given(st.text(alphabet=st.sampled_from(list("ab *_~#>-1.|\n")), max_size=120))
def test_no_letter_is_lost_and_none_is_added(text):
    letters = [letter for letter in text if letter in "ab"]
    shown = "".join(step.text for step in rendered(text) if isinstance(step, Words))

    assert [letter for letter in shown if letter in "ab"] == letters
