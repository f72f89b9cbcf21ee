"""Make the fonts that a PDF needs, from those that pages use.

    pip install fonttools brotli
    python fonts/make.py

Pages load parts of a variable font as they need them. A PDF wants each weight as one whole file:
the parts of a family are set to one weight and merged.
"""

import json
from pathlib import Path

from fontTools.merge import Merger
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont

HERE = Path(__file__).resolve().parent
PAGES = HERE.parent / "static" / "fonts"
WEIGHTS = {"Regular": 400, "Bold": 700}
# The parts of each family, the first of them leading. Literata lends Greek and Cyrillic alone.
PARTS = {
    "AtkinsonHyperlegibleNext": ("atkinson-hyperlegible-next-{}-normal", ("latin", "latin-ext")),
    "Literata": (
        "literata-{}-normal",
        ("latin", "latin-ext", "vietnamese", "greek", "greek-ext", "cyrillic", "cyrillic-ext"),
    ),
    "NotoSansArabic": ("noto-sans-{}-normal", ("arabic",)),
    "NotoSansHebrew": ("noto-sans-{}-normal", ("hebrew",)),
}
NAMES = {
    "AtkinsonHyperlegibleNext": "Atkinson Hyperlegible Next",
    "Literata": "Literata",
    "NotoSansArabic": "Noto Sans Arabic",
    "NotoSansHebrew": "Noto Sans Hebrew",
}


def main() -> None:
    for family, (pattern, parts) in PARTS.items():
        for style, weight in WEIGHTS.items():
            path = HERE / f"{family}-{style}.ttf"
            made = []
            for part in parts:
                font = at_weight(PAGES / f"{pattern.format(part)}.woff2", weight)
                made.append(HERE / f"{part}.part.ttf")
                font.save(made[-1])
            whole = Merger().merge([str(one) for one in made]) if len(made) > 1 else font
            name(whole, NAMES[family], style, weight)
            born = TTFont(PAGES / f"{pattern.format(parts[0])}.woff2")["head"].created
            whole["head"].created = whole["head"].modified = born  # the same file each time
            whole.recalcTimestamp = False
            whole.save(path)
            for one in made:
                one.unlink()
            print(path.name, path.stat().st_size, "bytes")
    (HERE / "covered.json").write_text(json.dumps(ranges(covered())) + "\n")


def covered() -> set[int]:
    """The letters that some family has in every weight."""
    return {
        letter
        for family in PARTS
        for letter in set.intersection(
            *(set(TTFont(HERE / f"{family}-{style}.ttf").getBestCmap()) for style in WEIGHTS)
        )
        if letter > 31 and not 127 <= letter < 160
    }


def ranges(letters: set[int]) -> list[list[int]]:
    """The first and last letter of each run of them, in order."""
    found: list[list[int]] = []
    for letter in sorted(letters):
        if found and found[-1][1] == letter - 1:
            found[-1][1] = letter
        else:
            found.append([letter, letter])
    return found


def at_weight(path: Path, weight: int) -> TTFont:
    font = TTFont(path, recalcTimestamp=False)
    font.flavor = None
    axes = {axis.axisTag: axis.defaultValue for axis in font["fvar"].axes} | {"wght": weight}
    return instantiateVariableFont(font, axes)


def name(font: TTFont, family: str, style: str, weight: int) -> None:
    """Say in the file which family and weight it is: what was cut from a variable font does not."""
    table = font["name"]
    for number in (16, 17, 21, 22, 25):
        table.removeNames(nameID=number)
    for number, text in (
        (1, family),
        (2, style),
        (4, f"{family} {style}"),
        (6, f"{family.replace(' ', '')}-{style}"),
    ):
        table.setName(text, number, 3, 1, 0x409)
    font["OS/2"].usWeightClass = weight
    bold = style == "Bold"
    font["OS/2"].fsSelection = font["OS/2"].fsSelection & ~0x61 | (0x20 if bold else 0x40)
    font["head"].macStyle = int(bold)


if __name__ == "__main__":
    main()
