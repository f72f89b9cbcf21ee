"""The support line at the foot of every page, by the country somebody chose."""

from pathlib import Path

import pytest
from django.core.checks import run_checks
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from rating import support
from rating.forms import LOOK
from rating.models import Role
from tests.factories import make_rater, make_user

pytestmark = pytest.mark.django_db

GOOD = '[GB]\nname = "United Kingdom"\nline = "Samaritans"\nnumber = "116 123"\n'


@pytest.fixture
def lines_file(tmp_path, settings):
    """Writes the file that the site reads its lines from."""

    def write(text: str, name: str = "lines.toml") -> Path:
        settings.SUPPORT_LINES_FILE = tmp_path / name
        settings.SUPPORT_LINES_FILE.write_text(text)
        support._kept.cache_clear()
        return settings.SUPPORT_LINES_FILE

    yield write
    support._kept.cache_clear()


def chosen(client, person, country: str, **more):
    client.force_login(person)
    fields = {**LOOK, "country": country, "languages": ["en"], **more}
    return client.post(reverse("rating:text"), fields)


def test_the_lines_that_are_shipped_can_all_be_used():
    lines = support.read_lines(Path("fixtures/support_lines.toml"))

    assert {"US", "CA", "GB", "IE", "AU", "NZ", "EU"} <= lines.keys()
    assert (lines["GB"].number, lines["GB"].dials) == ("116 123", "116123")
    assert lines["AU"].dials == "131114"
    assert [line.name for line in lines.values()] == sorted(line.name for line in lines.values())


def test_somebody_sees_the_line_of_the_country_they_chose_on_every_page(client, settings):
    settings.SUPPORT_LINE = "The line of this site"
    rater = make_rater()
    assert chosen(client, rater, "GB").status_code == 302

    for page in (client.get(reverse("home")), client.get("/no/such/page")):
        assertContains(
            page,
            'United Kingdom: Samaritans: <a class="call" href="tel:116123">116 123</a>',
            status_code=page.status_code,
        )
        assertContains(page, "https://findahelpline.com", status_code=page.status_code)
    client.logout()
    page = client.get(reverse("account_login"))
    assertContains(page, "The line of this site")
    assertNotContains(page, "116 123")


@pytest.mark.parametrize("role", list(Role))
def test_everybody_can_choose_whatever_their_role(client, role):
    person = make_user(role)

    chosen(client, person, "AU")

    person.refresh_from_db()
    assert person.country == "AU"
    assertContains(client.get(reverse("home")), 'href="tel:131114"')


def test_a_country_that_has_no_line_is_not_taken(client):
    rater = make_rater()

    assert chosen(client, rater, "XX").status_code == 422
    rater.refresh_from_db()
    assert rater.country == ""


def test_somebody_whose_country_has_left_the_file_sees_the_line_of_the_site(
    client, settings, lines_file
):
    settings.SUPPORT_LINE = "The line of this site"
    rater = make_rater()
    chosen(client, rater, "AU")
    lines_file(GOOD)

    assertContains(client.get(reverse("home")), "The line of this site")


def test_a_json_file_does_as_well(lines_file):
    lines_file(
        '{"FI": {"name": "Finland", "line": "Help", "url": "https://example.org/help"}}', "l.json"
    )

    line = support.line_of("FI")
    assert line is not None
    assert (line.number, line.site) == ("", "example.org")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[GB", "is not TOML"),
        ("GB = 3", "GB in"),
        (GOOD.replace("[GB]", "[Britain]"), "write a country as two capital letters"),
        (GOOD.replace("116 123", "one one six"), "has the number 'one one six'; write digits"),
        (GOOD.replace("116 123", "116 123; rm"), "write digits"),
        (GOOD + 'colour = "red"', "has 'colour'; there are: line, name, number, url"),
        (GOOD.replace('line = "Samaritans"\n', ""), "needs a name and a line"),
        (GOOD.replace('number = "116 123"\n', ""), "needs a number or a url"),
        (GOOD + 'url = "javascript:alert(1)"', "begin it with https://"),
        (GOOD + "line2 = 3", "is no table of texts"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_check_with_a_hint_and_no_crash(
    client, lines_file, text, said
):
    path = lines_file(text)

    [fault] = [one for one in run_checks() if one.id == "rating.E001"]
    assert said in fault.msg
    assert str(path) in fault.msg
    assert "SUPPORT_LINES_FILE" in fault.hint
    person = make_rater()
    person.country = "GB"
    person.save()
    client.force_login(person)
    assertContains(client.get(reverse("home")), "Nothing on this site tells you")
    assert client.get(reverse("rating:text")).status_code == 200


def test_a_file_that_is_not_there_is_said_too(settings, tmp_path):
    settings.SUPPORT_LINES_FILE = tmp_path / "none.toml"

    [fault] = [one for one in run_checks() if one.id == "rating.E001"]
    assert "cannot be read" in fault.msg
