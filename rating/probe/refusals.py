"""What the probe will not do, said so that the host can go on."""

LONGEST_SHOWN = 60


class Refused(ValueError):
    """A call that is not carried out, with the reason and the way on. Nothing was written."""


class Tampered(Refused):
    """Records on disk that are not as the probe wrote them."""


def shown(value: object) -> str:
    """A value as a message shows it: quoted, and never a long one."""
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"
