"""What an item reviewer puts down: five criteria, a verdict, a concern and the minutes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from rating.models import CRITERIA, ReviewSkip, Verdict
from rating.reviews import Given

LONGEST = 5_000
MOST_MINUTES = 600
# Fewer minutes are asked about, once: a review takes ten to fifteen.
FEW_MINUTES = 2

QUESTIONS = {
    "applicable": (
        "Applicable",
        "Can each level be told from what is on this page: the words of the person and the reply?",
    ),
    "discriminating": (
        "Discriminating",
        "Would a warm reply that is wrong, and a blunt one that is right, get different levels?",
    ),
    "monotonic": (
        "On one axis",
        "Do the levels go up one step at a time, with the top within reach and the lowest likely?",
    ),
    "on_construct": (
        "On the construct",
        "Do the levels measure what the item says it measures, and nothing else?",
    ),
    "safe_and_accurate": (
        "Safe and accurate",
        "Are the facts true, and would the top level do no harm to a person like this?",
    ),
}

SAY_EACH = "Answer yes or no: {}."
SAY_WHY = "Say why not: {}."
SAY_VERDICT = "Choose a verdict."
NO_MEANS_REVISION = "A criterion is not met, so the verdict is “Needs revision”."
SAY_CONCERN = "Say what needs revision, in a line or more."
SAY_MINUTES = "Say how many minutes it took, as a whole number from 0 to 600."


@dataclass(frozen=True)
class Question:
    """A criterion as the page shows it, with what was answered so far."""

    name: str
    title: str
    text: str
    answer: str
    why: str
    errors: tuple[str, ...]
    why_errors: tuple[str, ...]


class ReviewForm(forms.Form):
    verdict = forms.ChoiceField(
        choices=Verdict.choices,
        error_messages={"required": SAY_VERDICT, "invalid_choice": SAY_VERDICT},
    )
    concern = forms.CharField(required=False, max_length=LONGEST)
    minutes = forms.IntegerField(
        min_value=0,
        max_value=MOST_MINUTES,
        error_messages=dict.fromkeys(
            ("required", "invalid", "min_value", "max_value"), SAY_MINUTES
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in CRITERIA:
            missing = SAY_EACH.format(QUESTIONS[name][0].lower())
            self.fields[name] = forms.ChoiceField(
                choices=[("yes", "Yes"), ("no", "No")],
                error_messages={"required": missing, "invalid_choice": missing},
            )
            self.fields[f"why_{name}"] = forms.CharField(required=False, max_length=LONGEST)
        self.order_fields(
            [part for name in CRITERIA for part in (name, f"why_{name}")] + ["verdict", "concern"]
        )

    def clean(self) -> dict[str, Any]:
        said = super().clean() or self.cleaned_data
        unmet = [name for name in CRITERIA if said.get(name) == "no"]
        for name in unmet:
            if not said.get(f"why_{name}"):
                self.add_error(f"why_{name}", SAY_WHY.format(QUESTIONS[name][0].lower()))
        if unmet and said.get("verdict") == Verdict.VALIDATED:
            self.add_error("verdict", NO_MEANS_REVISION)
        if said.get("verdict") == Verdict.NEEDS_REVISION and not said.get("concern") and not unmet:
            self.add_error("concern", SAY_CONCERN)
        return said

    @property
    def questions(self) -> list[Question]:
        """The five criteria in their order."""
        return [
            Question(
                name,
                *QUESTIONS[name],
                self[name].value() or "",
                self[f"why_{name}"].value() or "",
                tuple(str(why) for why in self.errors.get(name, ())) if self.is_bound else (),
                tuple(str(why) for why in self.errors.get(f"why_{name}", ()))
                if self.is_bound
                else (),
            )
            for name in CRITERIA
        ]

    def given(self) -> Given:
        """The review of a form that is complete. Without a concern, the reasons make one."""
        said = self.cleaned_data
        met = {name: said[name] == "yes" for name in CRITERIA}
        whys = {name: said[f"why_{name}"] for name in CRITERIA if not met[name]}
        concern = said["concern"]
        if said["verdict"] == Verdict.NEEDS_REVISION and not concern:
            concern = "\n".join(f"{QUESTIONS[name][0]}: {why}" for name, why in whys.items())
        return Given(met, said["verdict"], concern, said["minutes"], whys)


class SkipForm(forms.Form):
    reason = forms.ChoiceField(
        choices=ReviewSkip.choices,
        error_messages={
            "required": "Choose a reason to skip.",
            "invalid_choice": "Choose a reason to skip.",
        },
    )
    skip_note = forms.CharField(required=False, max_length=LONGEST)


def draft_of(data: Mapping[str, str]) -> dict[str, str]:
    """What is kept of a form as it stands, whole or not."""
    names = [*CRITERIA, *(f"why_{name}" for name in CRITERIA), "verdict", "concern", "minutes"]
    return {name: data[name][:LONGEST] for name in names if data.get(name)}
