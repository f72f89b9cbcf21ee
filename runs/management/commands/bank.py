"""Load a bank, check it, compare two versions of it, or write one back as a file."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from runs.bank import BankFile, BankRefused, check_bank, read_bank, read_json
from runs.bank_checks import Checked, Count, check_whole
from runs.bank_diff import as_text, diff_banks
from runs.bank_text import write_bank
from runs.models import Bank, Item


class Command(BaseCommand):
    help = "Keep banks of items: bank import, bank check, bank diff, bank export"

    def add_arguments(self, parser: ArgumentParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True)
        load = steps.add_parser("import", help="check a bank file, and store it whole and frozen")
        load.add_argument("file", type=Path)
        check = steps.add_parser("check", help="say what is wrong with banks, and what they count")
        check.add_argument("file", type=Path, nargs="*")
        check.add_argument("--bank", action="append", default=[], help="a stored one: NAME VERSION")
        check.add_argument("--json", action="store_true")
        diff = steps.add_parser("diff", help="what a version changes of another")
        diff.add_argument("before", help="a file, or a stored bank: 'NAME VERSION'")
        diff.add_argument("after", help="a file, or a stored bank: 'NAME VERSION'")
        diff.add_argument("--unpublished", action="store_true", help="show texts kept back, too")
        export = steps.add_parser("export", help="write a stored bank as the file it came from")
        export.add_argument("name")
        export.add_argument("version")
        export.add_argument("--out", type=Path, help="a file to write; the terminal otherwise")
        export.add_argument(
            "--unpublished", action="store_true", help="the bank may hold items that are kept back"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        step = getattr(self, f"{options['step']}_")
        step(**{key: options[key] for key in STEPS[options["step"]]})

    def import_(self, file: Path) -> None:
        try:
            read = read_bank(file)
            bank, new = Bank.objects.import_file(read)
        except OSError as why:
            raise CommandError(_unread(file, why)) from None
        except BankRefused as why:
            raise CommandError(
                f"{file} was not loaded; it has {_count(len(why.faults), 'fault')}:\n{why}"
            ) from None
        except ValidationError as why:
            raise CommandError(" ".join(why.messages)) from None
        for warning in read.warnings:
            self.stderr.write(str(warning))
        if not new:
            self.stdout.write(f"{bank} is already there, with the same content.")
            return
        withheld = sum(1 for item in read.items if item.withheld)
        self.stdout.write(
            f"{bank} is loaded: {_count(len(read.items), 'item')}, "
            f"{len(read.items) - withheld} served, {withheld} withheld, "
            f"{_count(len(read.pairs), 'pair')}, {_count(len(read.warnings), 'warning')}."
        )
        self.stdout.write(f"Its hash is {bank.content_hash}.")

    def check_(self, file: list[Path], bank: list[str], json: bool) -> None:
        if not file and not bank:
            raise CommandError("Name a bank file, or a stored bank with --bank 'NAME VERSION'.")
        checked: dict[str, Checked] = {}
        for path in file:
            try:
                checked[str(path)] = check_whole(read_json(path))
            except OSError as why:
                raise CommandError(_unread(path, why)) from None
            except BankRefused as why:
                checked[str(path)] = Checked(why.faults, None)
        for name in bank:
            checked[name] = check_whole(_data_of(_stored(name)))
        if json:
            self.stdout.write(_as_json(checked))
        else:
            for name, one in checked.items():
                self.stdout.write("\n".join(_as_table(name, one)))
        if faults := sum(len(one.faults) for one in checked.values()):
            raise CommandError(f"{_count(faults, 'fault')} to mend.")

    def diff_(self, before: str, after: str, unpublished: bool) -> None:
        diff = diff_banks(_file_or_stored(before), _file_or_stored(after))
        self.stdout.write(as_text(diff, show_unpublished=unpublished), ending="")

    def export_(self, name: str, version: str, out: Path | None, unpublished: bool) -> None:
        bank = _stored(f"{name} {version}")
        kept_back = sum(item.unpublished for item in Item.objects.filter(bank=bank))
        if kept_back and not unpublished:
            raise CommandError(
                f"{bank} holds {_count(kept_back, 'unpublished item')}, whose texts would stand "
                "in the file. Add --unpublished if it is to be kept as carefully as they are."
            )
        written = write_bank(_data_of(bank))
        if out is None:
            self.stdout.write(written.decode(), ending="")
            return
        try:
            out.write_bytes(written)
        except OSError as why:
            raise CommandError(f"{out} cannot be written: {why.strerror}.") from None
        self.stdout.write(f"{bank} is written to {out}; its hash is {bank.content_hash}.")


STEPS = {
    "import": ("file",),
    "check": ("file", "bank", "json"),
    "diff": ("before", "after", "unpublished"),
    "export": ("name", "version", "out", "unpublished"),
}


def _file_or_stored(named: str) -> BankFile:
    path = Path(named)
    if not path.is_file():
        if path.suffix == ".json":
            raise CommandError(f"There is no file {named}.")
        return check_bank(_data_of(_stored(named)))
    try:
        return read_bank(path)
    except OSError as why:
        raise CommandError(_unread(path, why)) from None
    except BankRefused as why:
        raise CommandError(f"{path} cannot be compared until it is mended:\n{why}") from None


def _stored(named: str) -> Bank:
    banks = {str(bank): bank for bank in Bank.objects.order_by("pk")}
    if named not in banks:
        raise CommandError(
            f"There is no bank {named}; the banks are: {', '.join(banks) or 'none yet'}."
        )
    return banks[named]


def _data_of(bank: Bank) -> dict[str, Any]:
    try:
        return bank.as_data()
    except ValidationError as why:
        raise CommandError(" ".join(why.messages)) from None


def _as_json(checked: dict[str, Checked]) -> str:
    return json.dumps(
        {
            name: {
                "checks": {
                    check: {"faults": faults, "warnings": warnings}
                    for check, (faults, warnings) in one.by_check().items()
                },
                "found": [asdict(fault) for fault in one.found],
                "counts": asdict(one.counts) if one.counts else None,
            }
            for name, one in checked.items()
        },
        ensure_ascii=False,
        indent=2,
    )


def _as_table(name: str, one: Checked) -> Iterator[str]:
    yield name
    yield ""
    yield f"{'check':24}{'faults':>8}{'warnings':>10}"
    for check, (faults, warnings) in one.by_check().items():
        yield f"{check:24}{faults:>8}{warnings:>10}"
    if one.found:
        yield ""
        yield from (f"{fault} ({fault.check})" for fault in one.found)
    yield ""
    if one.counts is None:
        yield "The wording is checked, and items are counted, once the structure has no fault."
        yield ""
        return
    counts = one.counts
    yield f"{'':24}{'items':>8}{'scorable':>10}{'served':>8}"
    yield _line("all", counts.whole)
    yield from (_line(code, count) for code, count in counts.dimensions.items())
    if counts.subdimensions:
        yield ""
        yield f"Served items of each of the {len(counts.subdimensions)} subdimensions:"
        shown = [f"{code} {count.served}" for code, count in counts.subdimensions.items()]
        yield from (f"  {'  '.join(shown[at : at + 5])}" for at in range(0, len(shown), 5))
        if thin := counts.thin():
            yield f"  Fewer than two: {', '.join(thin)}"
    if counts.chambers:
        yield ""
        yield "Pairs of each chamber:"
        yield f"  {'  '.join(f'{code}: {pairs}' for code, pairs in counts.chambers.items())}"
    yield ""
    yield f"Crisis items: {_listed(counts.crisis)}"
    yield f"Drafts: {_listed(counts.drafts)}"
    yield f"With earlier turns: {counts.with_turns}. Unpublished: {counts.unpublished}."
    yield ""


def _line(name: str, count: Count) -> str:
    return f"{name:24}{count.items:>8}{count.scorable:>10}{count.served:>8}"


def _listed(codes: Sequence[str]) -> str:
    return f"{len(codes)} ({', '.join(codes)})" if codes else "none"


def _unread(path: Path, why: OSError) -> str:
    return f"{path} cannot be read: {why.strerror}."


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
