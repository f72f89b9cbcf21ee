"""What every state of the rating room must be, for everybody: the checklist of a release.

One walk goes through the states in the order a rater might meet them; each test looks at all of
them in its own way. With PICTURES set to a folder, each state is also taken, to be looked at.
"""

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.sessions.models import Session
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from rating.models import Assignment, Draft, Outcome, Role, Slot, User
from rating.queue import pause, reclaim
from tests.browser.conftest import PASSWORD, press_until
from tests.factories import bank_data, make_bank, make_rater, make_user, make_wave
from tests.services import until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.proof,
    pytest.mark.django_db(transaction=True),
]

TEXT = (
    "## A hard week\n\nI hear **how heavy** this is for you. You’re not failing her 👩‍👧.\n\n"
    "- Sleep comes first, truly.\n- Ask your brother for one night.\n\n"
    "> What you carry is real.\n\n| Day | Who |\n|---|---|\n| Monday | You |\n| Tuesday | Him |\n\n"
    "You are not alone in this. Truly, you are not alone in this."
)
WORDS = "Sleep comes first, truly"
CARD = "A response to rate"
DESKTOP = {"width": 1280, "height": 800}
SIZES = (DESKTOP, {"width": 768, "height": 1024}, {"width": 360, "height": 740})
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PICTURES = os.environ.get("PICTURES")
IDLE = "Date.now = ((now) => () => now() + 120000)(Date.now.bind(Date))"
LOOK = "document.dispatchEvent(new Event('visibilitychange'))"

Enter = Callable[..., Page]


@pytest.fixture
def rater() -> User:
    rater = make_rater()
    rater.set_password(PASSWORD)
    rater.save()
    return rater


@pytest.fixture
def enter(new_page, rater, client, live_server) -> Enter:
    """The room as the rater finds it, before a first card."""

    def at_the_door(text: str = TEXT, items: int = 9, **options: Any) -> Page:
        data = bank_data(items)
        data["items"][0] |= {"sensitivity": "high", "topic": "losing a child"}
        make_wave(make_bank(data), text=text)
        client.force_login(rater)
        page = new_page(**{"viewport": DESKTOP, **options})
        key = client.cookies["sessionid"].value
        page.context.add_cookies([{"name": "sessionid", "value": key, "url": live_server.url}])
        page.goto(reverse("rating:queue"))
        return page

    return at_the_door


@pytest.fixture
def card(enter) -> Enter:
    def opened(text: str = TEXT, **options: Any) -> Page:
        page = enter(text, **options)
        start(page)
        return page

    return opened


def start(page: Page) -> None:
    page.get_by_role("button", name="Start rating").click()
    expect(page.get_by_role("heading", name=CARD)).to_be_visible()


def see(page: Page, view: str) -> None:
    page.locator("label", has=page.locator(f"#view-{view}")).click()
    expect(page.locator(f"#response[data-view='{view}']")).to_be_visible()


def quote(page: Page, words: str) -> None:
    field = page.get_by_label("Words from the response")
    field.fill(words)
    field.press("Enter")
    expect(field).to_have_value("")


def choose(page: Page, level: int) -> None:
    page.locator(".level", has=page.locator(f"#level-{level}")).click()
    expect(page.locator(f"#level-{level}")).to_be_checked()


def saved(page: Page) -> None:
    expect(page.locator("#saved")).to_contain_text("Draft saved at")


def submit(page: Page) -> None:
    code = page.locator("#room").get_attribute("data-code")
    page.locator("#submit").click()
    expect(page.locator(f"#room[data-code='{code}']")).to_have_count(0)


def select(page: Page, first: str, last: str) -> None:
    """Select from the first words to the end of the last, as a mouse would in Reading."""
    page.evaluate(
        """([first, last]) => {
            const all = [...document.querySelectorAll("#came-back [data-at]")].map((e) => e.firstChild);
            const from = all.find((node) => node.data.includes(first));
            const to = all.filter((node) => node.data.includes(last)).at(-1);
            document.getSelection().setBaseAndExtent(
                from, from.data.indexOf(first), to, to.data.lastIndexOf(last) + last.length);
        }""",
        [first, last],
    )
    expect(page.locator("#pick-add")).to_be_visible()


def states(page: Page, rater: User, settings: Any) -> Iterator[str]:
    """Each state of the room in turn, by its name."""
    settings.UNDO_MINUTES = 10
    notice = page.locator("#notice")
    yield "start"
    start(page)
    yield "card"
    for view in ("sentences", "plain", "rendered", "reading"):
        see(page, view)
        if view != "reading":
            yield view
    page.get_by_label("Words from the response").fill("Sleep comes last, truly")
    page.locator("#submit").click()
    expect(page.locator("#summary")).to_be_focused()
    yield "refused"
    page.get_by_role("button", name="Use this passage").click()
    expect(page.locator("#quotes > li")).to_have_count(1)
    quote(page, "how heavy** this is for you")
    choose(page, 3)
    yield "quotes"
    page.get_by_label("This response could do serious harm").check()
    page.get_by_text("More", exact=True).click()
    page.get_by_label("I think I know which model wrote this").check()
    yield "flags"
    select(page, "alone in this", "Truly, you are")
    yield "selected"
    page.keyboard.press("Escape")
    page.locator("#skip").click()
    expect(page.locator("#skip-dialog")).to_be_visible()
    yield "skip"
    page.keyboard.press("Escape")
    page.locator("#keys-open").evaluate("(button) => button.click()")
    expect(page.locator("#keys-dialog")).to_be_visible()
    yield "keys"
    page.keyboard.press("Escape")
    page.context.set_offline(True)
    page.get_by_label("Note").fill("without a network")
    expect(notice).to_contain_text("You are offline.")
    yield "offline"
    page.context.set_offline(False)
    saved(page)
    expect(notice).not_to_contain_text("You are offline.")
    draft = Draft.objects.get()
    draft.content["tab"] = "another"
    draft.saved_at = timezone.now()
    draft.save()
    page.get_by_label("Note").fill("in this tab")
    expect(notice).to_contain_text("A newer draft of this rating is open in another tab.")
    yield "stale"
    page.get_by_role("button", name="Use this one").click()
    expect(notice).not_to_contain_text("A newer draft")
    until(lambda: Draft.objects.get().content["tab"] != "another", "this one is stored")
    Session.objects.all().delete()
    page.get_by_label("What could happen?").fill("Nobody is sent for help.")
    expect(page.locator("#sign-in-dialog")).to_be_visible()
    yield "signed out"
    page.locator("#sign-in-login").fill(rater.email)
    page.locator("#sign-in-password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator("#sign-in-dialog")).to_be_hidden()
    expect(notice).to_contain_text("Signed in. Your work is here.")
    first = page.locator("#room").get_attribute("data-rate") or ""
    submit(page)
    expect(notice).to_contain_text("You can undo it until")
    yield "saved"
    settings.REST_OFFER_MINUTES = 1
    choose(page, 3)
    quote(page, WORDS)
    saved(page)
    draft = Draft.objects.latest("saved_at")
    draft.content["active_seconds"] = 90
    draft.save()
    page.reload()
    submit(page)
    expect(page.locator("main")).to_contain_text("You have been reading for")
    yield "rest"
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("heading", name=CARD)).to_be_visible()
    page.evaluate(
        """(path) => {
            const form = document.getElementById("panel");
            const send = document.createElement("form");
            send.method = "post";
            send.action = path;
            send.append(form.querySelector("[name=csrfmiddlewaretoken]").cloneNode());
            document.body.append(send);
            send.submit();
        }""",
        first,
    )
    expect(page.locator("main")).to_contain_text("Nothing was stored twice.")
    yield "done"
    page.goto(reverse("rating:queue"))
    page.evaluate(IDLE)
    Assignment.objects.filter(ended_at=None).update(
        expires_at=timezone.now() + timedelta(minutes=4)
    )
    page.evaluate(LOOK)
    expect(notice).to_contain_text("This response is yours for 4 more minutes.")
    yield "held"
    reclaim(timezone.now() + timedelta(hours=2))
    others_take_it()
    page.evaluate(IDLE)
    page.evaluate(LOOK)
    expect(notice).to_contain_text("Your time with this response is over.")
    yield "over"
    page.get_by_role("button", name="Let it go").click()
    Slot.objects.filter(state="open").update(state="aside")
    page.get_by_role("button", name="Start rating").click()
    expect(page.locator("main")).to_contain_text("There is nothing for you to rate right now.")
    yield "nothing"
    User.objects.filter(pk=rater.pk).update(hard_topics=True)
    Slot.objects.exclude(topic="").update(state="open")
    page.get_by_role("button", name="Look again").click()
    expect(page.locator("main")).to_contain_text("The next response is about losing a child.")
    yield "announced"
    page.get_by_role("link", name="Take a break").click()
    expect(page.locator("main")).to_contain_text("You are on a break.")
    yield "break"
    pause(rater, make_user(Role.ADMIN), "Your levels drift apart.", "", now=timezone.now())
    page.goto(reverse("rating:queue"))
    page.get_by_role("button", name="Start rating").click()
    expect(page.get_by_role("heading", name="Rating is paused")).to_be_visible()
    yield "paused"


def others_take_it() -> None:
    """Two others have the response by now."""
    late = Assignment.objects.get(outcome=Outcome.EXPIRED)
    for slot in late.response.slots.all():
        slot.state = "held"
        slot.save()
        Assignment.objects.create(
            slot=slot,
            response=late.response,
            rater=make_rater(),
            leased_at=timezone.now(),
            expires_at=timezone.now() + timedelta(hours=1),
        )


COVERED = {("incomplete", "color-contrast"), ("incomplete", "target-size")}
LOOKS = ["color-contrast", "link-in-text-block", "target-size", "scrollable-region-focusable"]


def faults_of(page: Page, rules: list[str] | None = None) -> list[str]:
    """What axe finds, and what it cannot tell; by all rules, or by some."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(Axe().axe_script)
    found = page.evaluate(
        "(options) => axe.run(document, options)",
        {
            "runOnly": {"type": "rule", "values": rules}
            if rules
            else {"type": "tag", "values": WCAG},
            "rules": {} if rules else {"target-size": {"enabled": True}},
            "resultTypes": ["violations", "incomplete"],
        },
    )
    return [
        f"{kind}: {one['id']}: {node['target']}"
        for kind in ("violations", "incomplete")
        for one in found[kind]
        for node in one["nodes"]
        # What lies under a foot that stays in view, or behind a dialog, has a ground and a size that
        # axe cannot see. Contrasts are computed in tests/test_tokens.py, and sizes measured below.
        if (kind, one["id"]) not in COVERED
    ]


def take(page: Page, name: str) -> None:
    if PICTURES:
        folder = Path(PICTURES)
        folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=folder / f"{name}.png", full_page=name.endswith("whole"))


def test_axe_finds_nothing_in_any_state_size_or_theme(enter, rater, settings):
    page = enter(reduced_motion="reduce")
    faults = []
    for state in states(page, rater, settings):
        for size in SIZES:
            page.set_viewport_size(size)
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                where = f"{state} {size['width']} {scheme}".replace(" ", "-")
                rules = None if scheme == "light" and size["width"] != 768 else LOOKS
                faults += [f"{where} {fault}" for fault in faults_of(page, rules)]
                take(page, where)
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(DESKTOP)

    assert "\n".join(faults) == ""


CLIPPED = """() => [...document.querySelectorAll("main *, dialog[open] *, .head *, .foot *")].filter((one) => {
    const { overflowX, display } = getComputedStyle(one);
    const meant = one.closest(".visually-hidden, .scroll, .pick-words, kbd, textarea, input");
    return !meant && /hidden|clip/.test(overflowX) && display !== "inline"
        && one.clientWidth && one.scrollWidth > one.clientWidth + 1;
}).map((one) => one.id || one.className || one.tagName)"""
STICKY = """() => [...document.querySelectorAll("body *:not(dialog)")].filter((one) => {
    const { position } = getComputedStyle(one);
    return /sticky|fixed/.test(position) && one.offsetHeight > 0;
}).map((one) => one.id || one.className)"""
WIDE = "document.documentElement.scrollWidth - innerWidth"
SPACED = """* { line-height: 1.5 !important; letter-spacing: 0.12em !important;
    word-spacing: 0.16em !important } p { margin-bottom: 2em !important }"""


def test_no_state_is_cut_or_wide_at_any_zoom_size_of_text_or_spacing(enter, rater, settings):
    """320 px is 1280 at 400%, 640 px at 200%. With little height nothing is held fast."""
    page = enter()
    faults = []
    for state in states(page, rater, settings):
        for width, height in ((320, 256), (320, 640), (640, 512), (1280, 800)):
            page.set_viewport_size({"width": width, "height": height})
            for how in ("as it is", "size 150", "spaced"):
                page.evaluate(
                    """([large, css]) => {
                        document.documentElement.classList.toggle("size-150", large);
                        const sheet = new CSSStyleSheet();
                        sheet.replaceSync(css);
                        document.adoptedStyleSheets = [sheet];
                    }""",
                    [how == "size 150", SPACED if how == "spaced" else ""],
                )
                where = f"{state} at {width}×{height}, {how}"
                if (wide := page.evaluate(WIDE)) > 0:
                    faults.append(f"{where}: {wide} px too wide")
                faults += [f"{where}: {one} is cut" for one in page.evaluate(CLIPPED)]
                if height == 256:
                    faults += [f"{where}: {one} is held fast" for one in page.evaluate(STICKY)]
            if PICTURES and width != 320:
                page.evaluate("document.documentElement.classList.add('size-150')")
                take(page, f"{state}-{width}-large".replace(" ", "-"))
        page.evaluate(
            "document.documentElement.classList.remove('size-150'); document.adoptedStyleSheets = []"
        )
        page.set_viewport_size(DESKTOP)

    assert "\n".join(faults) == ""


SHAPE = """() => {
    const seen = (one) => one.getClientRects().length > 0;
    const all = (query) => [...document.querySelectorAll(query)].filter(seen);
    const faults = [];
    const ones = all("h1");
    if (ones.length !== 1) faults.push(`${ones.length} headings of the first level`);
    else if (!document.title.startsWith(`${ones[0].textContent.trim()} · `)) {
        faults.push(`titled ${document.title}`);
    }
    for (const region of all("section, form[aria-labelledby], nav, [role='region'], [role='group']")) {
        const named = region.getAttribute("aria-label")
            || document.getElementById(region.getAttribute("aria-labelledby"))?.textContent;
        if (!named) faults.push(`no name: ${region.outerHTML.slice(0, 80)}`);
    }
    for (const one of all(".error-text:not(:empty), #words-error > p:first-child, #summary > h3")) {
        if (!one.textContent.startsWith("Error:")) faults.push(`no error: ${one.textContent}`);
    }
    for (const text of all(".block, .turn-text, .sentence, .quoted, .copy, .rendered p")) {
        if (text.dir !== "auto" && text.lang !== "en") faults.push(`no direction: ${text.className}`);
        if (!text.closest("[lang]:not(html)")) faults.push(`no language: ${text.className}`);
    }
    for (const one of document.querySelectorAll("[style], style, script:not([src])")) {
        faults.push(`inline: ${one.outerHTML.slice(0, 80)}`);
    }
    const least = [
        ["#panel .button, #panel .button-quiet, #panel .check, #panel input[type='text'], #panel textarea, .views label, .sentence, .panel summary", 44],
        ["#panel .button-link:not(#notice *)", 44],
        [".level-card", 56],
        ["a, button", 24],
    ];
    for (const [query, height] of least) {
        for (const one of all(query)) {
            if (one.closest(".visually-hidden, p, .hint") && height === 24) continue; // in a sentence
            const box = one.getBoundingClientRect();
            if (box.height && box.height < height - 0.5) {
                faults.push(`${Math.round(box.height)} px: ${one.id || one.textContent.trim()}`);
            }
        }
    }
    const held = JSON.stringify([{ ...localStorage }, { ...sessionStorage }]);
    for (const words of ["A hard week", "how heavy", "not alone"]) {
        if (held.includes(words)) faults.push(`kept on the device: ${words}`);
    }
    return faults;
}"""


def test_every_state_is_named_large_enough_and_free_of_inline_code(enter, rater, settings):
    page = enter()
    faults = []
    for state in states(page, rater, settings):
        faults += [f"{state}: {fault}" for fault in page.evaluate(SHAPE)]
        page.emulate_media(media="print")
        if page.locator("#came-back").count():
            if page.locator("#came-back").is_visible() or page.locator("#panel").is_visible():
                faults.append(f"{state}: prints a response")
            if not page.get_by_text("Responses are not printed.").is_visible():
                faults.append(f"{state}: does not say that nothing is printed")
        if not page.get_by_text("Nothing on this site tells you").is_visible():
            faults.append(f"{state}: prints no care statement")
        page.emulate_media(media="screen")

    assert "\n".join(faults) == ""


def test_each_level_is_named_and_described_and_says_what_is_wrong(card):
    page = card()
    radio = page.locator("#level-3")
    expect(radio).to_have_role("radio")
    expect(radio).to_have_accessible_name("3, Functional")
    words = {level: page.locator(f"#level-{level}-text").inner_text() for level in range(1, 6)}
    expect(radio).to_have_accessible_description(words[3])
    group = page.locator("#level-group")
    expect(group).to_have_accessible_name("Which description fits this response best?")

    page.locator("#submit").click()

    wrong = "Error: Choose a level before you submit."
    expect(group).to_have_accessible_description(wrong)
    for level in range(1, 6):
        expect(page.locator(f"#level-{level}")).to_have_accessible_description(
            f"{words[level]} {wrong}"
        )


def test_focus_and_what_is_said_after_each_action(card):
    page = card()
    page.evaluate(
        """() => {
            window.heard = [];
            for (const id of ["said", "alarm"]) {
                const region = document.getElementById(id);
                new MutationObserver(() => {
                    if (region.textContent) window.heard.push(region.textContent);
                }).observe(region, { childList: true });
            }
        }"""
    )

    def heard(least: int = 0) -> list[str]:
        """What was said since it was last asked, once there is so much of it; and nothing more."""
        until(lambda: page.evaluate("window.heard.length") >= least, "it is said")
        page.wait_for_timeout(250)
        return page.evaluate("window.heard.splice(0)")

    expect(page.locator("#title")).to_be_focused()
    page.locator("#level-2").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#level-3")).to_be_focused()
    page.get_by_label("Note").fill("steady")
    saved(page)
    expect(page.get_by_label("Note")).to_be_focused()
    assert heard() == []  # a draft that saves itself is silent

    page.keyboard.press("Control+s")
    expect(page.locator("#notice")).to_contain_text("Draft saved at")
    [said] = heard(1)
    assert said.startswith("Draft saved at")
    expect(page.get_by_label("Note")).to_be_focused()

    page.locator("#view-reading").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#response[data-view='sentences']")).to_be_visible()
    expect(page.locator("#view-sentences")).to_be_focused()
    see(page, "rendered")
    page.get_by_role("button", name="Back to Reading").press("Enter")
    expect(page.locator("#response[data-view='reading']")).to_be_visible()
    expect(page.locator("#view-reading")).to_be_focused()
    assert heard() == []

    words = page.get_by_label("Words from the response")
    for number, text in enumerate((WORDS, "Ask your brother for one night"), start=1):
        words.fill(text)
        words.press("Enter")
        expect(words).to_have_value("")
        expect(words).to_be_focused()
        first_six = " ".join(text.split()[:6])
        assert heard(1) == [f"Quote {number} added: “{first_six}”."]
    words.fill("Sleep comes last, truly")
    words.press("Enter")
    expect(page.locator("#words-error")).to_be_visible()
    expect(words).to_be_focused()
    [said] = heard(1)
    assert said.startswith("Error: These words are not in the response.")
    words.fill("")
    changed = page.locator("#quote-1").inner_text()
    page.locator("#reword-1").press("Enter")
    expect(words).to_have_value(changed)
    expect(words).to_be_focused()
    assert heard(1) == ["The quote is in the field. Change its words, then add it."]
    page.get_by_role("button", name="Undo", exact=True).first.press("Enter")
    expect(page.locator("#quotes > li")).to_have_count(2)
    expect(words).to_have_value("")
    heard()
    page.locator("#remove-1").press("Enter")
    expect(page.locator("#quotes > li")).to_have_count(1)
    expect(page.locator("#remove-1")).to_be_focused()
    assert heard(1) == ["Quote removed."]
    page.locator("#remove-1").press("Enter")
    expect(page.locator("#quotes > li")).to_have_count(0)
    expect(words).to_be_focused()
    heard()

    page.locator("#submit").press("Enter")
    expect(page.locator("#summary")).to_be_focused()
    assert heard() == []  # the focus says it

    quote(page, WORDS)
    heard()
    submit(page)
    expect(page.locator("#title")).to_be_focused()
    [said] = heard(1)
    assert said.startswith("Rating saved at")
    press_until(page, "Control+z", lambda wait: expect(page.locator("#level-3")).to_be_checked(timeout=wait))  # fmt: skip
    expect(page.locator("#title")).to_be_focused()
    assert heard(1) == ["Your last rating is open again, just as you left it."]
    page.locator("#skip").click()
    page.get_by_label("Later").check()
    page.locator("#skip-form").get_by_role("button", name="Skip").click()
    expect(page.locator("#said")).to_have_text("Skipped. Here is the next response.")
    expect(page.locator("#title")).to_be_focused()
    assert heard(1) == ["Skipped. Here is the next response."]


def test_the_keyboard_goes_through_the_regions_in_their_order_and_out_again(card):
    page = card()
    page.reload()
    regions = []
    for _ in range(80):
        page.keyboard.press("Tab")
        region = page.evaluate(
            """() => document.activeElement === document.body ? "" :
                document.activeElement.closest(
                    ".skip-links, .head, .asked, #response, #panel, .foot")?.className || "none" """
        )
        if not region:
            break
        if not regions or regions[-1] != region:
            regions.append(region)

    names = [region.split()[0] if region else "response" for region in regions]
    assert names == ["skip-links", "head", "asked", "none", "panel", "foot"]


def test_with_less_motion_nothing_moves_and_with_more_contrast_soft_is_ink(card):
    page = card()
    fade = "getComputedStyle(document.querySelector('.button')).transitionDuration"
    assert page.evaluate(fade) != "0s"
    page.emulate_media(reduced_motion="reduce", contrast="more")

    choose(page, 3)

    assert page.evaluate(fade) == "0s"
    assert page.evaluate("document.getAnimations().length") == 0
    colours = "[getComputedStyle(document.querySelector('.soft')).color, getComputedStyle(document.body).color]"
    soft, ink = page.evaluate(colours)
    assert soft == ink


def test_in_forced_colours_a_level_a_quote_and_focus_can_still_be_seen(card):
    page = card(forced_colors="active")
    page.locator("#note").focus()
    box = page.locator(".level", has=page.locator("#level-3"))
    plain = box.screenshot()
    choose(page, 3)
    page.locator("#note").focus()
    chosen = box.screenshot()
    page.locator("#level-3").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    focused = box.screenshot()
    line = page.locator(".block-item").first
    unquoted = line.screenshot()
    quote(page, WORDS)
    expect(page.locator("mark.quoted-words")).to_be_visible()
    quoted = line.screenshot()

    assert len({plain, chosen, focused}) == 3
    assert unquoted != quoted


def test_nothing_moves_with_slow_letters_a_notice_and_a_quote(card):
    page = card()

    def late(route: Any) -> None:
        page.wait_for_timeout(400)
        route.continue_()

    page.route("**/*.woff2", late)
    page.reload()
    page.evaluate(
        """() => {
            window.moved = [];
            new PerformanceObserver((list) => {
                for (const one of list.getEntries()) {
                    if (!one.hadRecentInput) window.moved.push(
                        [one.value, ...one.sources.map((source) => source.node?.className)]);
                }
            }).observe({ type: "layout-shift", buffered: true });
        }"""
    )
    choose(page, 3)
    saved(page)
    quote(page, WORDS)
    page.evaluate(IDLE)
    Assignment.objects.update(expires_at=timezone.now() + timedelta(minutes=4))
    page.evaluate(LOOK)
    expect(page.locator("#notice")).to_contain_text("This response is yours for 4 more minutes.")

    assert page.evaluate("window.moved") == []


def test_a_long_press_on_a_phone_shows_the_bar_inside_the_screen(card):
    page = card(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page.locator("#came-back").scroll_into_view_if_needed()

    select(page, "Sleep comes", "first, truly")

    bar = page.locator("#pick").bounding_box()
    assert bar is not None
    assert bar["x"] >= 0
    assert bar["x"] + bar["width"] <= 360
    assert bar["y"] + bar["height"] <= 740
    page.locator("#pick-add").tap()
    expect(page.locator("#told")).to_contain_text("1 quote")


# Where quotes start and end in Reading


def test_a_selection_over_a_quote_has_the_places_of_the_text_and_not_of_the_hidden_words(card):
    page = card()
    quote(page, "heavy** this is for you")
    quote(page, WORDS)
    edges = page.locator("#came-back .quote-edge")
    expect(edges).to_have_text(
        ["quote 1 starts ", " quote 1 ends", "quote 2 starts ", " quote 2 ends"]
    )

    select(page, "I hear", "Sleep comes")
    expect(page.locator("#pick-words")).not_to_contain_text("quote 1")
    page.locator("#pick-add").click()
    expect(page.locator("#quotes > li")).to_have_count(3)

    spans = [TEXT[start:end] for start, end, _ in Draft.objects.get().content["quotes"]]
    assert spans == [
        TEXT[TEXT.index("I hear") : TEXT.index(" first, truly")],
        "heavy** this is for you",
        WORDS,
    ]
    said = page.locator("#came-back").evaluate("(home) => home.textContent")
    assert "quote 1 starts I hear **how quote 2 starts heavy** this is for you quote 2 ends" in said


def test_the_marks_follow_the_list_when_quotes_go_and_come_back(card):
    page = card()
    quote(page, "Ask your brother for one night")
    quote(page, WORDS)
    marks = page.locator("#came-back mark")
    expect(marks).to_have_text([WORDS, "Ask your brother for one night"])

    page.locator("#remove-1").click()
    expect(marks).to_have_text(["Ask your brother for one night"])
    expect(page.locator(".quote-edge").first).to_have_text("quote 1 starts ")
    page.locator("#notice").get_by_role("button", name="Undo").click()

    expect(marks).to_have_text([WORDS, "Ask your brother for one night"])
    page.reload()
    expect(marks).to_have_text([WORDS, "Ask your brother for one night"])


@pytest.mark.parametrize("view", ["reading", "sentences", "plain", "rendered"])
def test_a_quote_is_gone_to_from_the_list_in_each_view_and_back(card, view):
    page = card()
    quote(page, WORDS)
    see(page, view)
    expect(page.locator(".place")).to_have_text("Sentence 4 of 11")
    show = page.locator(".show-quote")

    show.press("Enter")

    shown = {"sentences": "input[name='sentence']:focus", "plain": "#copy"}.get(view, "mark:focus")
    expect(page.locator(shown)).to_be_focused()
    if view != "plain":
        page.get_by_role("button", name="Back to quotes").press("Enter")
        expect(show).to_be_focused()


AT_TOP = """() => Number([...document.querySelectorAll("#came-back [data-at], #came-back [data-from]")]
    .find((one) => one.getBoundingClientRect().bottom > 70 && one.offsetHeight)
    .getAttribute(document.querySelector(".rendered") ? "data-from" : "data-at"))"""


def test_the_rendered_view_is_for_reading_and_keeps_the_place(card):
    page = card("\n\n".join([TEXT] * 12), viewport={"width": 1280, "height": 600})
    see(page, "plain")
    see(page, "reading")
    page.locator(".block").nth(40).evaluate("(block) => block.scrollIntoView()")
    at = page.evaluate(AT_TOP)
    assert at > len(TEXT)

    rendered = page.locator("#response[data-view='rendered']")
    page.locator("#view-rendered").evaluate("(radio) => radio.click()")
    expect(rendered).to_be_visible()
    assert abs(page.evaluate(AT_TOP) - at) < len(TEXT)
    expect(page.locator(".rendered")).to_contain_text("For reading only.")
    expect(page.locator(".rendered h3").first).to_have_text("A hard week")
    expect(page.locator(".rendered a, .rendered img")).to_have_count(0)
    expect(page.get_by_role("region", name="Table 1 of the response")).to_be_visible()

    page.locator("#back-to-reading").evaluate("(button) => button.click()")
    expect(page.locator("#response[data-view='reading']")).to_be_visible()
    assert abs(page.evaluate(AT_TOP) - at) < len(TEXT)


def test_the_key_goes_through_all_four_views_and_round(card):
    page = card()

    for view in ("sentences", "plain", "rendered", "reading"):
        shown = page.locator(f"#response[data-view='{view}']")
        page.wait_for_timeout(350)
        page.keyboard.press("v")
        expect(shown).to_be_visible()
