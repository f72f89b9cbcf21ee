"""What every test stands on."""

import os
from collections.abc import Iterator

import hypothesis
import pytest
import redis
from django.conf import settings
from django.core.cache import cache, caches
from django.test import TransactionTestCase

from rating.at_hand import forget
from tests.chromium import CHROMIUM
from tests.emptying import empty

hypothesis.settings.load_profile("ci")  # the same examples each time, and no clock
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # Playwright's sync tests use the ORM


def pytest_configure() -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.STORAGES["staticfiles"] = {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
    }
    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
    settings.MAIL = True
    # Tests sign people in without the page of it. What asks for a second factor is tested where it
    # is turned on: tests/test_second_factor.py.
    settings.SECOND_FACTOR = False
    # Drawn by response: a test that is not about it would be asked by chance.
    settings.GUESS_PERCENT = 0
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    if settings.DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
        # What a test commits need not outlast the machine.
        settings.DATABASES["default"]["OPTIONS"]["options"] += " -c synchronous_commit=off"


CI = os.environ.get("CI") == "true"
left_out: list[pytest.Item] = []


def pytest_sessionstart() -> None:
    """What a test run was told to use must be there; so must all of it in CI."""
    if settings.CELERY_BROKER_URL.startswith("redis"):
        try:
            redis.Redis.from_url(settings.CELERY_BROKER_URL).ping()
        except redis.RedisError as why:
            raise pytest.UsageError(
                f"CELERY_BROKER_URL is {settings.CELERY_BROKER_URL}, which does not answer: {why}"
            ) from None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if CHROMIUM:
        return
    left_out[:] = [item for item in items if item.get_closest_marker("browser")]
    if left_out and CI:
        raise pytest.UsageError("CI=true, but there is no Chromium: install Debian's chromium.")
    items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if left_out:
        terminalreporter.write_line(
            f"{len(left_out)} browser tests were left out: no Chromium was found on this machine."
        )


@pytest.fixture(autouse=True)
def _an_empty_cache() -> None:
    cache.clear()
    caches["figures"].clear()
    forget()


@pytest.fixture(autouse=True, scope="session")
def _a_test_that_committed_is_followed_by_emptying() -> Iterator[None]:
    tear_down = TransactionTestCase._fixture_teardown
    TransactionTestCase._fixture_teardown = lambda case: empty()  # type: ignore[method-assign]
    yield
    TransactionTestCase._fixture_teardown = tear_down  # type: ignore[method-assign]
