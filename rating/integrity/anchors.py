"""What is kept outside the database: the key that stamps a seal, and how far the chains had come."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

from rating.events import last_sealed
from rating.models import Event
from rating.seals import Seal

FORMAT: Final = "compassion/anchor/1"
SALT: Final = "rating.integrity"


class BadAnchor(ValueError):
    """A file that is no anchor, with the sentence to show."""


@dataclass(frozen=True)
class Head:
    """How far log and seals had come: the last of each, by number."""

    event: int = 0
    event_seal: str = ""
    seal: int = 0
    seal_hash: str = ""


def head() -> Head:
    """How far they have come now."""
    event = last_sealed()
    seal = Seal.objects.order_by("-number").defer("content").first()
    return Head(
        event.pk if event else 0,
        event.seal if event else "",
        seal.number if seal else 0,
        seal.seal if seal else "",
    )


def as_anchor(found: Head) -> str:
    return json.dumps({"format": FORMAT, **asdict(found)}, indent=1, sort_keys=True) + "\n"


def read_anchor(path: Path) -> Head:
    """The head that a file holds. Raises ``BadAnchor``."""
    try:
        return head_in(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, UnicodeDecodeError) as why:
        raise BadAnchor(f"{path} is no anchor: {why}") from None


def head_in(said: Mapping[str, Any]) -> Head:
    """The head that JSON tells. Raises ``ValueError``."""
    if not isinstance(said, dict) or said.get("format", FORMAT) != FORMAT:
        raise ValueError(f"its format is not {FORMAT}")
    try:
        return Head(
            int(said["event"]), str(said["event_seal"]), int(said["seal"]), str(said["seal_hash"])
        )
    except (KeyError, TypeError):
        raise ValueError("it does not say how far log and seals had come") from None


def unlike(anchor: Head) -> Iterator[tuple[str, str, str]]:
    """Where the database is not what it was at an anchor: table, key, and what is wrong."""
    if anchor.event:
        found = Event.objects.filter(pk=anchor.event).values_list("seal", flat=True).first()
        if found is None:
            yield "rating_event", str(anchor.event), "was there at the anchor and is gone"
        elif found != anchor.event_seal:
            yield "rating_event", str(anchor.event), "was another one at the anchor"
    if anchor.seal:
        found = Seal.objects.filter(pk=anchor.seal).values_list("seal", flat=True).first()
        if found is None:
            yield "rating_seal", str(anchor.seal), "was there at the anchor and is gone"
        elif found != anchor.seal_hash:
            yield "rating_seal", str(anchor.seal), "was another one at the anchor"


# The key


def key_name(secret: str | None = None) -> str:
    """Which key it is, without telling anything of it."""
    return salted_hmac(f"{SALT}.name", "", secret=secret, algorithm="sha256").hexdigest()[:16]


def stamp_of(seal: str, secret: str | None = None) -> str:
    """A seal under the key of this installation, which is not in the database."""
    return salted_hmac(f"{SALT}.stamp", seal, secret=secret, algorithm="sha256").hexdigest()


def keys() -> dict[str, str]:
    """The keys at hand, by name: the one in use, and those before it."""
    return {key_name(one): one for one in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)}


def is_stamped(seal: str, stamp: str, name: str, known: Mapping[str, str]) -> bool | None:
    """Whether a stamp is right; None where its key is not at hand."""
    if name not in known:
        return None
    return constant_time_compare(stamp, stamp_of(seal, known[name]))
