"""What is uploaded is taken up to a size, and what goes beyond it is let go of."""

from io import BytesIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.urls import reverse
from pytest_django.asserts import assertContains

from rating.models import Role
from runs.models import Wave
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def maintainer(client):
    client.force_login(make_user(Role.MAINTAINER))
    return client


def test_an_upload_beyond_its_size_is_let_go_of_as_it_comes(maintainer, monkeypatch):
    """Six megabytes are sent; a little over two and a half are kept for the form to refuse."""
    written = []
    true = TemporaryFileUploadHandler.receive_data_chunk

    def counting(handler, raw_data, start):
        written.append(len(raw_data))
        return true(handler, raw_data, start)

    monkeypatch.setattr(TemporaryFileUploadHandler, "receive_data_chunk", counting)
    file = SimpleUploadedFile("plan.toml", b'title = "a"\n' * 500_000)

    answer = maintainer.post(reverse("runs:load"), {"file": file})

    assertContains(answer, "larger than a plan may be, which is 1,000,000 bytes", status_code=422)
    assert 2_500_000 <= sum(written) <= 2_600_000
    assert not Wave.objects.exists()


def test_many_files_in_one_request_get_no_further_than_one(client, monkeypatch):
    """Also of somebody who is not signed in: what a form sends is read before anything is asked."""
    written = []
    monkeypatch.setattr(
        TemporaryFileUploadHandler,
        "receive_data_chunk",
        lambda handler, raw_data, start: written.append(len(raw_data)),
    )
    files = {f"file{n}": SimpleUploadedFile(f"{n}.txt", b"x" * 2_600_000) for n in range(4)}

    client.post(reverse("account_login"), files)

    assert 2_500_000 <= sum(written) <= 2_600_000


def test_a_form_that_is_too_large_is_refused_and_says_what_became_of_it(maintainer):
    answer = maintainer.post(reverse("runs:new"), {"title": "a" * 2_600_000})

    assertContains(answer, "nothing was done with it", status_code=413)


@pytest.mark.parametrize(
    "raw",
    [b"", b"\xff\xfe\x00", b"\x00" * 99, b"a = " + b"[" * 90_000, b"PK\x03\x04", b"seed = 1e999"],
)
def test_a_file_that_is_no_plan_is_refused_beside_its_field(maintainer, raw):
    file = BytesIO(raw)
    file.name = "../../plan.toml"

    answer = maintainer.post(reverse("runs:load"), {"file": file})

    assert answer.status_code == 422
    assert answer.context["file"].errors["file"]
