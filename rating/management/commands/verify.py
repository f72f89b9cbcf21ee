"""Seal what is new, walk log, seals and rows, and say what is not as it was; or look at a bundle."""

import json
import os
import sys
import time
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from rating.integrity.anchors import BadAnchor, as_anchor, read_anchor
from rating.integrity.bundles import BadBundle, check_bundle
from rating.integrity.checking import KEY, Finding, Walked, check, first
from rating.seeding import pools

MOST_SHOWN = 100
#: What the command ends with, where it does not end with 0.
WRONG, UNKNOWN_KEY = 1, 3
EVERY = 5.0  # seconds between two lines of progress


class Command(BaseCommand):
    help = (
        "See whether every row is as it was sealed. Ends with 0: it is; 1: something is not; "
        "3: it is, as far as can be told without a key that seals were made under."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="what was found, for a program")
        parser.add_argument(
            "--anchor",
            type=Path,
            action="append",
            default=[],
            metavar="FILE",
            help="an anchor kept elsewhere, which log and seals must still go through",
        )
        parser.add_argument(
            "--write-anchor",
            type=Path,
            metavar="FILE",
            help="where all is well, write how far log and seals have come",
        )
        parser.add_argument(
            "--bundle",
            type=Path,
            metavar="FILE|FOLDER",
            help="look at a bundle instead: its hashes, its figures, its place in the log",
        )
        parser.add_argument("--quiet", action="store_true", help="no lines of progress")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["bundle"]:
            self._bundle(options["bundle"], as_json=options["json"])
            return
        try:
            anchors = [read_anchor(path) for path in options["anchor"]]
        except BadAnchor as why:
            raise CommandError(str(why), returncode=2) from None
        say = _progress(self.stderr if not options["quiet"] else None)
        walked = Walked()
        shown, number = first(check(walked, anchors, say), MOST_SHOWN)
        if options["json"]:
            self.stdout.write(json.dumps(_as_data(walked, shown, number), indent=1))
        if number:
            lines = [f"{one}. {one.way_on}" for one in shown] if not options["json"] else []
            more = [f"{number - len(shown)} more."] if number > len(shown) else []
            raise CommandError(
                "\n".join([*lines, *more]) or f"{number} things are wrong.", returncode=WRONG
            )
        if options["write_anchor"]:
            _write(options["write_anchor"], as_anchor(walked.head))
        if not options["json"]:
            self._well(walked)
        if walked.unknown_keys:
            raise CommandError(
                f"{walked.unknown_keys} of {walked.seals} seals are stamped with a key that is not "
                f"here, so whoever could write to the database could have made them. {KEY}",
                returncode=UNKNOWN_KEY,
            )

    def _well(self, walked: Walked) -> None:
        events, rows = walked.sealed_now
        self.stdout.write(
            f"The log holds: {walked.events} events, {events} of them sealed now. "
            f"{walked.rows} rows are as they were sealed in {walked.seals} seals, {rows} of them "
            "sealed now. Slots, holds and tallies are those of the ratings; reports are as they "
            "were published."
        )
        if walked.head.seal:
            self.stdout.write(
                f"Keep elsewhere: event {walked.head.event} {walked.head.event_seal}, "
                f"seal {walked.head.seal} {walked.head.seal_hash}."
            )
        for pool in pools():
            self.stdout.write(f"Agreed responses for {pool.in_words}")

    def _bundle(self, path: Path, *, as_json: bool) -> None:
        try:
            found = check_bundle(path)
        except BadBundle as why:
            raise CommandError(str(why), returncode=WRONG) from None
        if as_json:
            self.stdout.write(json.dumps(asdict(found), indent=1))
        else:
            for line in found.said:
                self.stdout.write(line)
        if found.wrong:
            raise CommandError("\n".join(found.wrong[:MOST_SHOWN]), returncode=WRONG)


def _as_data(walked: Walked, shown: list[Finding], number: int) -> dict[str, Any]:
    return {
        "well": not number,
        "found": number,
        "findings": [asdict(one) for one in shown],
        **{name: value for name, value in asdict(walked).items() if name != "sealed_now"},
        "sealed_now": dict(zip(("events", "rows"), walked.sealed_now, strict=True)),
    }


def _progress(out: Any) -> Any:
    """Says now and then how far it is. A short look says nothing."""
    last = time.monotonic()

    def say(what: str, rows: int) -> None:
        nonlocal last
        if out is not None and time.monotonic() - last > EVERY:
            last = time.monotonic()
            out.write(f"{what}: {rows:,} looked at")

    return say


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, "utf-8")
        beside.replace(path)
    except OSError as why:
        raise CommandError(f"{path} cannot be written: {why.strerror}.", returncode=2) from None
    finally:
        beside.unlink(missing_ok=True)
    print(f"The anchor is in {path}: keep a copy where this machine cannot write.", file=sys.stderr)
