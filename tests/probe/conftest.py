"""What the tests of the probe share."""

import os

import pytest


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    """A test's files need not outlast a power cut."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
