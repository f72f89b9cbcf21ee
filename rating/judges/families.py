"""Which models are of one family, so that none judges its own. What is not known counts as own."""

import re
from dataclasses import dataclass
from typing import Final

#: What people write where they do not know a family. Held against its folded form.
UNKNOWN: Final = ("", "unknown", "none stated", "not stated", "not known", "n/a", "none", "?", "-")

NOT_A_NAME = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Maker:
    """What is told of a model when it is asked whether two are alike."""

    model: str
    family: str
    digest: str = ""

    @property
    def folded(self) -> str:
        return NOT_A_NAME.sub(" ", self.family.casefold()).strip()

    @property
    def known(self) -> bool:
        return self.folded not in {NOT_A_NAME.sub(" ", word).strip() for word in UNKNOWN}


def kept_apart(judge: Maker, subject: Maker) -> str:
    """Why a judge may not judge what a subject said; empty if it may.

    Parameters
    ----------
    judge, subject : Maker
        Two models, by the code of each.
    """
    if not judge.known:
        return f"The family of {judge.model} is not known, so it could be any subject's own."
    if not subject.known:
        return (
            f"The family of the subject {subject.model} is not known, so any judge could be of it."
        )
    if judge.model == subject.model or (judge.digest and judge.digest == subject.digest):
        return f"{judge.model} is the subject {subject.model} itself."
    if judge.folded == subject.folded:
        return f"{judge.model} is of the family of the subject {subject.model}: {subject.family}."
    return ""
