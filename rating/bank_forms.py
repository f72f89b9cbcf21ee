"""What an admin types to draft the next version of a bank."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django import forms

from rating.drafting import PROMPT, Text, tidied
from runs.bank import LONGEST

MOST_ROWS = 12
LETTERS_A_ROW = 70


class ItemDraftForm(forms.Form):
    """The texts of one item, each as it is to be, and why."""

    reason = forms.CharField(
        label="Why",
        help_text="Kept in the changelog of the version, under your code name.",
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": "Say in a sentence why this changes."},
    )
    edition = forms.IntegerField(widget=forms.HiddenInput, min_value=0, required=False)

    def __init__(
        self,
        data: Any = None,
        *,
        texts: Sequence[Text],
        content: Mapping[str, str],
        reason: str = "",
        edition: int = 0,
    ) -> None:
        self.texts = {text.name: text for text in texts}
        super().__init__(data, initial={"reason": reason, "edition": edition})
        fields: dict[str, forms.Field] = {}
        for text in texts:
            shown = content.get(text.name, text.value)
            fields[text.name] = forms.CharField(
                label=text.label,
                initial=shown,
                required=not text.optional,
                strip=False,
                widget=forms.Textarea(attrs={"rows": _rows(shown)}),
                error_messages={
                    "required": "This text is empty. Write what it is to say.",
                    "null_characters_not_allowed": "This text holds a NUL, which is not text.",
                },
            )
        self.fields = {**fields, **self.fields}

    @property
    def changed(self) -> dict[str, str]:
        """The texts that differ from the base, by name. Only on a valid form."""
        found = {
            name: tidied(self.cleaned_data[name], text.value) for name, text in self.texts.items()
        }
        # White space alone is no turn.
        found |= {
            name: "" for name in found if name.startswith("turn-") and not found[name].strip()
        }
        return {name: text for name, text in found.items() if text != self.texts[name].value}

    def renew(self, edition: int) -> None:
        """Let the same words be sent again, over what somebody else has saved meanwhile."""
        self.data = {**dict(self.data.items()), "edition": edition}

    @property
    def asked(self) -> list[forms.BoundField]:
        """The fields of what is asked, in order."""
        return self._named(lambda kind: kind in ("turn", PROMPT, "variant"))

    @property
    def levels(self) -> list[forms.BoundField]:
        return self._named(lambda kind: kind in ("anchor", "note"))

    @property
    def notes(self) -> list[forms.BoundField]:
        return self._named(lambda kind: kind not in ("turn", PROMPT, "variant", "anchor", "note"))

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        for name, text in self.texts.items():
            if not text.optional and name in given and not given[name].strip():
                self.add_error(name, "This text is empty. Write what it is to say.")
        self._check_turns(given)
        if not self.errors and not self.changed:
            self.add_error(None, "Nothing is different from this version yet.")
        return given

    def _check_turns(self, given: Mapping[str, str]) -> None:
        turns = [given.get(name, "") for name in self.texts if name.startswith("turn-")]
        filled = [place for place, text in enumerate(turns) if text.strip()]
        last = max(filled, default=-1)
        for place in range(last + 1):
            if place not in filled:
                self.add_error(
                    f"turn-{place}", "This is empty, and something follows. Fill it, or empty both."
                )
        if last % 2 == 0:
            self.add_error(
                f"turn-{last + 1}", "An exchange ends with the answer. Write it, or empty both."
            )

    def _named(self, wanted: Callable[[str], bool]) -> list[forms.BoundField]:
        return [self[name] for name in self.texts if wanted(name.partition("-")[0])]


class FreezeForm(forms.Form):
    """The name of the version that a draft becomes."""

    version = forms.CharField(
        label="Version",
        max_length=LONGEST["bankVersion"],
        error_messages={"required": "Give the version a name."},
    )


def _rows(text: str) -> int:
    lines = sum(1 + len(line) // LETTERS_A_ROW for line in text.split("\n"))
    return min(MOST_ROWS, max(2, lines))
