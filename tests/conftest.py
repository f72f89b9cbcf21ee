"""What every test stands on."""

import os
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import TransactionTestCase

from runs.guards import lifted

os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # Playwright's sync tests use the ORM


def pytest_configure() -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.STORAGES["staticfiles"] = {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
    }
    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


@pytest.fixture(autouse=True)
def _an_empty_cache() -> None:
    cache.clear()


@pytest.fixture(autouse=True, scope="session")
def _emptying_a_test_database_lifts_its_guards() -> Iterator[None]:
    """SQLite is emptied row by row, which the append-only tables refuse."""
    tear_down = TransactionTestCase._fixture_teardown

    def lifting(case: TransactionTestCase) -> None:
        with lifted():
            tear_down(case)

    TransactionTestCase._fixture_teardown = lifting  # type: ignore[method-assign]
    yield
    TransactionTestCase._fixture_teardown = tear_down  # type: ignore[method-assign]
