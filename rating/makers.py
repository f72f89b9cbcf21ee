"""Who might have made a response: when a rater is asked, and when their guess is right.

Plain values alone. Guesses measure whether raters are blind; they never touch a rating.
"""

from collections.abc import Sequence

from runs.canonical import draw

UNKNOWN = ""  # what is stored for "I don't know"


def is_drawn(seed: str, code: str, percent: int) -> bool:
    """Whether a response is one of the ``percent`` in a hundred whose raters are asked.

    Drawn from the wave's seed and the response's code, so that both its raters are asked, and so
    that it can be drawn again.
    """
    share = int.from_bytes(draw(f"{seed}|guess", code)[:8], "big") / 2**64
    return share < percent / 100


def folded(name: str) -> str:
    """A name as it is compared: without regard to case, nor to spaces around or doubled in it."""
    return " ".join(name.split()).casefold()


def is_same(guess: str, developer: str) -> bool:
    """Whether a guess names the developer. "I don't know" names nobody."""
    return guess != UNKNOWN and folded(guess) == folded(developer)


def numbered(
    guesses: Sequence[str], developers: Sequence[str]
) -> tuple[list[str], list[int], list[int]]:
    """Names as numbers: the developers from A to Z, each guess, and who was right.

    A guess that names none of the developers is numbered after them, and -1 stands for "I don't
    know".
    """
    first: dict[str, str] = {}
    for name in developers:
        first.setdefault(folded(name), " ".join(name.split()))
    names = sorted(first.values(), key=folded)
    number = {folded(name): place for place, name in enumerate(names)}
    guessed = [
        -1 if guess == UNKNOWN else number.setdefault(folded(guess), len(number))
        for guess in guesses
    ]
    return names, guessed, [number[folded(name)] for name in developers]
