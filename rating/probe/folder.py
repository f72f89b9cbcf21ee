"""The folder that its owner chose: the only place where the probe writes."""

import re
from pathlib import Path
from typing import Final

from rating.probe.chain import Chain
from rating.probe.refusals import Refused, shown

#: What is kept, and how its ids begin.
RUNS: Final = "runs"
SESSIONS: Final = "sessions"
PREFIXES: Final = {RUNS: "run", SESSIONS: "session"}
SCORECARDS: Final = "scorecards"


def open_folder(path: Path) -> Path:
    """The folder, made if it is not there.

    Raises
    ------
    Refused
        If it cannot be one, or lies in a Git working tree: replies to crisis items must not end
        up in somebody's repository.
    """
    folder = path.expanduser().resolve()
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists():
            raise Refused(
                f"{folder} lies in the Git working tree {parent}. What is recorded could be "
                "published with it: choose a folder outside."
            )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in (*PREFIXES, SCORECARDS):
            inner = folder / name
            inner.mkdir(mode=0o700, exist_ok=True)
            if inner.is_symlink():
                raise Refused(f"{inner} is a link, and would lead out of {folder}. Remove it.")
    except OSError as why:
        raise Refused(f"{folder} cannot be used: {why.strerror}. Choose another folder.") from None
    return folder


def new_chain(folder: Path, kind: str, name: str) -> Chain:
    """The chain of something that begins now, still empty."""
    own = folder / kind / name
    own.mkdir(mode=0o700)
    return Chain(own)


def chain_of(folder: Path, kind: str, name: str) -> Chain:
    """The chain of something that was begun, not yet read. Raises ``Refused`` if it is not there."""
    what = PREFIXES[kind]
    if not re.fullmatch(rf"{what}-[0-9a-f]{{32}}", name):
        raise Refused(
            f"{shown(name)} is no id of a {what}: it is {what}- and 32 hexadecimal digits."
        )
    own = folder / kind / name
    if own.is_symlink() or not own.is_dir():
        known = names_in(folder, kind)
        way_on = f"those there are: {', '.join(known[-5:])}" if known else "there is none yet"
        raise Refused(f"There is no {what} {name}; {way_on}.")
    return Chain(own)


def names_in(folder: Path, kind: str) -> list[str]:
    """The ids of what was begun, in the order of their names."""
    found = re.compile(rf"{PREFIXES[kind]}-[0-9a-f]{{32}}")
    return sorted(path.name for path in (folder / kind).iterdir() if found.fullmatch(path.name))
