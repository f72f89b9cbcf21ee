"""Secrets come from the environment, and are found nowhere else.

Each secret is a word that stands nowhere. A wave is run by a worker as talkative as it can be made,
against a provider that repeats in its errors the very key it was sent. Then all that is left behind
is searched. It takes about half a minute.
"""

import json
import logging
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.apps import apps
from django.conf import settings
from django.core import mail
from django.test import Client
from django.urls import reverse

from rating.exports import Exports
from rating.models import Role
from runs.models import Response, Run, RunState, Wave
from tests.factories import bank_data, make_bank, make_user
from tests.proof.test_secrecy import PLAN, files_below, output_of
from tests.proof.test_worker_killed import Place, kill
from tests.rating.test_blinding import every_path
from tests.services import PATIENCE, free_port, until

pytestmark = [pytest.mark.proof, pytest.mark.django_db(transaction=True)]

SECRETS = {
    name: f"canary-{number}-9d31f0c4e7"
    for number, name in enumerate(
        ("SECRET_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "EMAIL_HOST_PASSWORD")
    )
}
PASSWORD = "canary-8-9d31f0c4e7"  # in the address of a database and of a broker


class Telltale:
    """A provider that answers first with an error in which the key stands that it was sent.

    A server on this machine is sent no key, and no other is sent one unencrypted: so it speaks
    HTTPS, under a name that only the resolver knows for this machine. ``folder`` gets the
    certificate that whoever asks it must trust.
    """

    NAME = "127.1"

    def __init__(self, folder: Path) -> None:
        self.keys: list[str] = []
        self.broken = True
        telltale = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                key = self.headers["Authorization"] or ""
                telltale.keys.append(key)
                status, said = telltale.answer(key)
                body = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("X-Your-Key", key)
                self.end_headers()
                with suppress(ConnectionError):
                    self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.certificate = folder / "certificate.pem"
        secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        secure.load_cert_chain(self.certificate, certify(self.NAME, self.certificate))
        self.server.socket = secure.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.base_url = f"https://{self.NAME}:{self.server.server_port}/v1"

    def answer(self, key: str) -> tuple[int, object]:
        said = {"message": f"Not now, {key}", "code": f"busy {key}", "type": key}
        if len(self.keys) == 2:
            return 500, {"error": said}
        if self.broken and len(self.keys) >= 3:
            return 401, {"error": said}
        usage = {"prompt_tokens": 9, "completion_tokens": 5}
        choice = {"message": {"content": f"I hear you. {len(self.keys)}"}, "finish_reason": "stop"}
        return 200, {"choices": [choice], "usage": usage}


def certify(name: str, at: Path) -> Path:
    """Write a certificate for a name that vouches for itself; return where its key is."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    today = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(who, who, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    at.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    beside = at.with_suffix(".key")
    beside.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return beside


@pytest.fixture
def telltale(tmp_path_factory) -> Iterator[Telltale]:
    one = Telltale(tmp_path_factory.mktemp("telltale"))
    yield one
    one.server.shutdown()
    one.server.server_close()


@pytest.fixture
def place(tmp_path, telltale) -> Iterator[Place]:
    there = Place(tmp_path)
    there.environment |= {
        "LOG_LEVEL": "DEBUG",
        "LOG_FORMAT": "json",
        "ASK_IN_FLIGHT": "1",
        "SSL_CERT_FILE": str(telltale.certificate),
        **SECRETS,
    }
    yield there
    for worker in there.workers:
        if worker.poll() is None:
            kill(worker)


def telling(texts: dict[str, str]) -> list[str]:
    """The names of those that hold a secret."""
    secrets = (*SECRETS.values(), PASSWORD)
    return sorted(name for name, text in texts.items() if any(one in text for one in secrets))


def rows() -> dict[str, str]:
    return {
        f"{model._meta.label} {place}": repr(row)
        for model in apps.get_models(include_auto_created=True)
        for place, row in enumerate(model._default_manager.values())
    }


def messages_in_redis() -> dict[str, str]:
    client = redis.Redis.from_url(settings.CELERY_BROKER_URL)
    held = {}
    for key in client.keys("*"):
        kind = client.type(key)
        if kind == b"list":
            held[repr(key)] = repr(client.lrange(key, 0, -1))
        elif kind == b"hash":
            held[repr(key)] = repr(client.hgetall(key))
    return held


def test_no_secret_of_the_environment_is_found_anywhere(
    place, telltale, tmp_path, settings, caplog, capsys
):
    settings.SECRET_KEY = SECRETS["SECRET_KEY"]
    settings.EMAIL_HOST_PASSWORD = SECRETS["EMAIL_HOST_PASSWORD"]
    on_redis = urlsplit(settings.CELERY_BROKER_URL).scheme == "redis"
    caplog.set_level(logging.DEBUG)
    bank = make_bank(bank_data(2))
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(bank=bank, base_url=telltale.base_url))
    said = {}

    def manage(*words: str) -> None:
        said[" ".join(words)] = output_of(place, *words)

    manage("run", "plan", str(plan), "--lock")
    manage("run", "start", "kept-back")
    messages = messages_in_redis() if on_redis else files_below(tmp_path / "broker")
    assert any("fetch_chunk" in text for text in messages.values())
    assert telling(messages) == []
    place.start_worker()
    until(lambda: Run.objects.get().state == RunState.STOPPED, "the run has stopped")
    manage("run", "status", "kept-back")
    telltale.broken = False
    manage("run", "resume", "kept-back", "--reason", "The key is there now.")
    until(lambda: Run.objects.get().state == RunState.DONE, "the run is done")
    assert any(SECRETS["OPENAI_API_KEY"] in key for key in telltale.keys)
    assert Response.objects.filter(status="completed").exists()

    wave = Wave.objects.select_related("bank").get()
    pages = {}
    for role in (Role.MAINTAINER, Role.ADMIN):
        person = make_user(role)
        client = Client(raise_request_exception=False)
        client.force_login(person)
        for path in every_path(person, wave):
            if path != "/sign-out/":
                answer = client.get(path)
                body = b"".join(answer.streaming_content) if answer.streaming else answer.content
                pages[f"{role} {path}"] = body.decode(errors="replace") + repr(dict(answer.headers))
    Client().post(reverse("account_reset_password"), {"email": person.email})
    files = {
        name: b"".join(parts).decode(errors="replace") for name, parts in Exports(wave).files()
    }
    place.workers[0].terminate()
    place.workers[0].wait(timeout=PATIENCE)

    assert telling(said) == []
    assert telling(rows()) == []
    assert telling(pages) == []
    assert telling(files) == []
    assert telling({str(one.to): one.message().as_string() for one in mail.outbox}) == []
    assert telling({"log": caplog.text, "output": "".join(capsys.readouterr())}) == []
    left = files_below(tmp_path)
    assert any("worker.log" in name for name in left)
    assert telling(left) == []


def test_an_error_page_says_a_reference_and_no_secret(settings, monkeypatch, caplog, capsys):
    """Also in the log, where the way to the fault stands."""
    settings.DEBUG = False
    settings.SECRET_KEY = SECRETS["SECRET_KEY"]

    def breaks(*_: object, **__: object) -> None:
        key = settings.SECRET_KEY
        raise RuntimeError(len(key))

    monkeypatch.setattr("rating.views.rooms.current", breaks)
    client = Client(raise_request_exception=False)
    client.force_login(make_user(Role.RATER))

    page = client.get(reverse("rating:queue"))

    assert page.status_code == 500
    assert f"give this number: {page['X-Request-ID']}" in page.content.decode()
    assert "Traceback" not in page.content.decode()
    said = {"page": page.content.decode(), "log": caplog.text, "out": "".join(capsys.readouterr())}
    assert telling(said) == []


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"DATABASE_URL": "postgres://who:{}@127.0.0.1:{}/none"}, ["migrate"]),
        ({"CELERY_BROKER_URL": "redis://:{}@127.0.0.1:{}/0"}, ["check", "--deploy"]),
        ({"SECRET_KEY": "{}{}", "DEBUG": "perhaps"}, ["check"]),
    ],
)
def test_a_command_that_fails_does_not_say_the_password_it_failed_with(tmp_path, names, words):
    place = Place(tmp_path)
    place.environment |= {name: told.format(PASSWORD, free_port()) for name, told in names.items()}

    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=settings.BASE_DIR,
        env=place.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert done.returncode != 0 or words[0] == "check"
    assert done.stdout + done.stderr
    assert telling({"output": done.stdout + done.stderr}) == []


def test_debug_is_off_unless_it_is_asked_for(tmp_path):
    environment = {**Place(tmp_path).environment}
    environment.pop("DEBUG", None)

    def debug(**more: str) -> str:
        code = "from django.conf import settings; print(settings.DEBUG)"
        return subprocess.run(
            [sys.executable, "-c", code],
            cwd=settings.BASE_DIR,
            env={**environment, "DJANGO_SETTINGS_MODULE": "compassion.settings", **more},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    assert (debug(), debug(DEBUG="true")) == ("False", "True")
