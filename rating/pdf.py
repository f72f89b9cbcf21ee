"""A document as a PDF, set by typst with our own fonts.

The template is fixed. All that is said in a document reaches it as data, where nothing is read as
markup. No font of the machine is used, and nothing is fetched.
"""

import json
from bisect import bisect_right
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from rating.document import Document

ROOT: Final = Path(__file__).resolve().parent.parent
FONTS: Final = ROOT / "fonts"
TEMPLATE: Final = ROOT / "templates" / "rating" / "document.typ"
STANDARD: Final = "ua-1"  # tagged, so that a screen reader finds headings, tables and pictures


def as_pdf(document: Document) -> bytes:
    """Return the document as PDF/UA-1. The same document gives the same bytes.

    Letters that our fonts do not have stand as their number, such as "[U+4E2D]", and a sentence
    at the end says so.
    """
    import typst  # heavy: wanted only where a PDF is made

    data = document.as_data()
    written = _shown(data)
    written["replaced"] = written != data
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "document.typ").write_bytes(TEMPLATE.read_bytes())
        for number, part in enumerate(written["parts"]):
            if "svg" in part:
                name = f"picture-{number}.svg"
                (root / name).write_text(part.pop("svg"), encoding="utf-8")
                part["file"] = name
        (root / "data.json").write_text(json.dumps(written, ensure_ascii=False), encoding="utf-8")
        made = typst.compile(
            str(root / "document.typ"),
            root=str(root),
            font_paths=[str(FONTS)],
            ignore_system_fonts=True,
            pdf_standards=STANDARD,
            timestamp=document.made_at.replace(microsecond=0),
        )
    assert isinstance(made, bytes)
    return made


def shown(text: str) -> str:
    """The text with what our fonts cannot show as numbers; line breaks and tabs as spaces."""
    return "".join(
        letter if _covered(ord(letter)) else " " if letter.isspace() else f"[U+{ord(letter):04X}]"
        for letter in text
    )


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {key: _shown(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(one) for one in value]
    return value


def _covered(letter: int) -> bool:
    starts, ends = _ranges()
    place = bisect_right(starts, letter) - 1
    return place >= 0 and letter <= ends[place]


@cache
def _ranges() -> tuple[list[int], list[int]]:
    found = json.loads((FONTS / "covered.json").read_text())
    return [first for first, _ in found], [last for _, last in found]
