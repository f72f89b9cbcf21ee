import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from runs.models import Bank
from tests.factories import bank_data

pytestmark = pytest.mark.django_db


@pytest.fixture
def load(tmp_path):
    def write(data):
        file = tmp_path / "bank.json"
        file.write_text(json.dumps(data))
        call_command("bank", "import", str(file))

    return write


def test_a_bank_is_loaded_and_counted(load, capsys):
    load(bank_data(items=8))

    bank = Bank.objects.get()
    said = capsys.readouterr().out
    assert f"{bank} is loaded: 8 items, 8 served, 0 withheld, 0 pairs" in said
    assert bank.content_hash in said
    assert bank.frozen_at is not None


def test_the_same_bank_is_already_there(load, capsys):
    data = bank_data()
    load(data)
    load(data)

    assert Bank.objects.count() == 1
    assert "already there" in capsys.readouterr().out


def test_another_bank_under_the_same_version_is_refused(load):
    data = bank_data()
    load(data)
    data["items"][0]["prompt"] += " Tell me."

    with pytest.raises(CommandError, match="give the new one a version of its own"):
        load(data)


def test_every_fault_is_said_and_nothing_is_loaded(load):
    data = bank_data()
    data["items"][0]["prompt"] = ""
    data["items"][1]["anchors"].pop()

    with pytest.raises(CommandError) as refused:
        load(data)

    said = str(refused.value)
    assert "was not loaded; it has 2 faults" in said
    assert data["items"][0]["id"] in said
    assert data["items"][1]["id"] in said
    assert not Bank.objects.exists()


def test_a_warning_is_said_and_does_not_stop_a_bank(load, capsys):
    data = bank_data()
    data["items"][0]["anchors"][0]["label"] = "Other"

    load(data)

    assert "'Other' is not '1.0 Critical'" in capsys.readouterr().err
    assert Bank.objects.exists()


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(CommandError, match=r"none\.json cannot be read"):
        call_command("bank", "import", "none.json")
