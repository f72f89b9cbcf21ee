"""What a maintainer types to plan a wave: a form for each part, held to the rules of a plan file.

Each form gives the tables that a plan file would hold (``table``), and puts what those rules say
of them beside the field it is about.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.utils import timezone

from runs.declared import (
    CORRECTIONS,
    LONGEST_RULE,
    PARITY_MARGIN,
    REPLY_TOKENS,
    in_cost,
    in_declared,
    possible_comparisons,
)
from runs.models import Bank, WaveKind
from runs.plan_file import DIRECTIONS, LARGEST_FILE, in_basics, in_subjects, runs_in
from runs.subject_forms import SubjectForm, initial_of_subject
from runs.subjects import SubjectRefused, is_registered, with_digest

MOST_SUBJECTS = 40
MOST_CONDITIONS = 40
CORRECTION_NAMES = {
    "bonferroni": "Bonferroni",
    "holm": "Holm",
    "none": "none",
}
assert tuple(CORRECTION_NAMES) == CORRECTIONS


def tell(form: forms.Form, faults: Iterable[str]) -> None:
    """Put each fault beside the field whose key it names, else above the form."""
    for fault in faults:
        key, _, said = fault.partition(": ")
        if said and key in form.fields:
            if key not in form.errors:  # a field that is wrong already has said why
                form.add_error(key, said[:1].upper() + said[1:])
        else:
            form.add_error(None, fault[:1].upper() + fault[1:])


def area(rows: int) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows})


def as_written(text: str) -> str:
    """A text as it was typed: a browser sends its line ends as two characters."""
    return text.replace("\r\n", "\n")


class OfADraft:
    """A form about a draft that somebody else may change meanwhile."""

    moved = False  # they did, and whoever sent the form is told


class BasicsForm(OfADraft, forms.Form):
    """What the wave is, over which bank, and how often each item is asked."""

    code = forms.CharField(
        label="Code",
        max_length=50,
        help_text="Short, in addresses and files: letters, digits, - and _.",
        error_messages={"required": "Give the wave a code."},
    )
    title = forms.CharField(
        label="Title", max_length=200, error_messages={"required": "Give the wave a title."}
    )
    kind = forms.ChoiceField(
        label="Kind",
        choices=WaveKind.choices,
        help_text="A pilot or official wave must declare its rules before it is locked.",
    )
    bank = forms.ChoiceField(label="Bank", error_messages={"required": "Choose a bank."})
    seed = forms.CharField(
        label="Seed",
        max_length=100,
        help_text="The order of asking is drawn from it. A date will do.",
        error_messages={"required": "Give a seed."},
    )
    trials = forms.IntegerField(
        label="Trials of each item",
        min_value=1,
        initial=3,
        help_text="At least 3; or 1, where the report is to tell ranges only.",
        error_messages={"required": "Say how often each item is asked."},
    )
    ranges_only = forms.BooleanField(
        label="One trial, and the report tells ranges only", required=False
    )

    def __init__(self, data: Any = None, *, plan: Mapping[str, Any], locked_code: bool) -> None:
        today = timezone.localdate().strftime("%Y%m%d")
        super().__init__(data, initial={"seed": today, **plan})
        banks = [str(bank) for bank in Bank.objects.exclude(frozen_at=None).order_by("name", "pk")]
        self.fields["bank"].choices = [("", "Choose a bank"), *((name, name) for name in banks)]  # type: ignore[attr-defined]
        if locked_code:
            del self.fields["code"]
        self.known_code = plan.get("code", "")

    @property
    def table(self) -> dict[str, Any]:
        return {"code": self.known_code, **self.cleaned_data}

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        if not self.errors:
            tell(self, in_basics(self.table))
        return said


class ConditionForm(forms.Form):
    """A system message, and the subjects that get it."""

    name = forms.CharField(label="Name", max_length=50, required=False)
    system_message = forms.CharField(
        label="System message",
        required=False,
        strip=False,
        max_length=LARGEST_FILE,
        widget=area(3),
        help_text="May be empty: then none is sent.",
    )
    of = forms.ChoiceField(label="For", required=False)
    expected = forms.ChoiceField(
        label="Levels should be",
        required=False,
        choices=[("", "Nothing is expected"), *((one, one) for one in DIRECTIONS)],
        help_text="For a system message that alters the subject on purpose.",
    )
    why = forms.CharField(label="Why so", max_length=LARGEST_FILE, required=False)

    def __init__(self, *args: Any, subjects: int = 1, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["of"].choices = [  # type: ignore[attr-defined]
            ("", "Every subject"),
            *((str(number), f"Subject {number}") for number in range(1, subjects + 1)),
        ]

    @property
    def is_empty(self) -> bool:
        return not self.cleaned_data.get("name") and not self.cleaned_data.get("system_message")

    @property
    def table(self) -> dict[str, str]:
        said = self.cleaned_data
        message = as_written(said.get("system_message", ""))
        altered = {key: said[key] for key in ("expected", "why") if said.get(key)}
        return {"name": said.get("name", ""), "system_message": message, **altered}


SubjectFormSet = forms.formset_factory(
    SubjectForm, extra=0, can_delete=True, max_num=MOST_SUBJECTS, validate_max=True
)
ConditionFormSet = forms.formset_factory(
    ConditionForm, extra=0, can_delete=True, max_num=MOST_CONDITIONS, validate_max=True
)


class SubjectsForm(OfADraft):
    """The subjects of a wave and the conditions they are asked under: two lists on one page."""

    def __init__(self, data: Any = None, *, plan: Mapping[str, Any], add: str = "") -> None:
        self.faults: list[str] = []
        # By the number of a subject: what was read from its runtime.
        self.read: dict[int, dict[str, str]] = {}
        if data is not None and add:
            data = data.copy()
            key = f"{add}-TOTAL_FORMS"
            data[key] = str(min(_whole(data.get(key)) + 1, MOST_SUBJECTS))
        subjects, conditions = initial_of(plan)
        # Else a form that is sent as it was shown would be taken for one left empty.
        all_read = {"empty_permitted": False}
        self.subjects = SubjectFormSet(
            data, initial=subjects, prefix="subjects", form_kwargs={**all_read, "plan": plan}
        )
        number = len(subjects) if data is None else _whole(data.get("subjects-TOTAL_FORMS"))
        self.conditions = ConditionFormSet(
            data,
            initial=conditions,
            prefix="conditions",
            form_kwargs={**all_read, "subjects": min(number, MOST_SUBJECTS)},
        )

    @property
    def lists(self) -> tuple[list[SubjectForm], list[ConditionForm]]:
        return self.subjects.forms, self.conditions.forms

    @property
    def errors(self) -> bool:
        return bool(self.faults) or any(
            form.errors for formset in (self.subjects, self.conditions) for form in formset.forms
        )

    def is_valid(self) -> bool:
        if not all([self.subjects.is_valid(), self.conditions.is_valid()]):
            for formset in (self.subjects, self.conditions):
                self.faults += [str(error) for error in formset.non_form_errors()]
            return False
        self._check()
        if not self.errors:
            self._read_digests()
        return not self.errors

    @property
    def table(self) -> list[dict[str, Any]]:
        """The ``subjects`` of a plan."""
        return [
            {**form.table, **self.read.get(n, {}), "conditions": self._conditions(n)}
            for n, form in self._wanted()
        ]

    def _wanted(self) -> list[tuple[int, SubjectForm]]:
        return [
            (number, form)
            for number, form in enumerate(self.subjects.forms, start=1)
            if not form.cleaned_data.get("DELETE") and not form.is_empty
        ]

    def _conditions(self, number: int) -> list[dict[str, str]]:
        return [
            form.table
            for form in self.conditions.forms
            if not form.cleaned_data.get("DELETE")
            and not form.is_empty
            and form.cleaned_data.get("of") in ("", str(number))
        ]

    def _check(self) -> None:
        forms_of = [form for _, form in self._wanted()]
        for fault in in_subjects(self.table):
            found = re.match(
                r"subjects (\d+): (?:(?:sampling|limits): )?(\w+): (.*)", fault, re.DOTALL
            )
            if found and found[2] in SubjectForm.base_fields:
                tell(forms_of[int(found[1]) - 1], [f"{found[2]}: {found[3]}"])
            else:
                self.faults.append(_on_page(fault))

    def _read_digests(self) -> None:
        """Ask local runtimes for the digests that were left empty, and say where one tells none."""
        for number, form in self._wanted():
            stated = form.table
            if is_registered(stated):
                continue
            try:
                digest = with_digest(stated).get("digest", "")
            except SubjectRefused as why:
                tell(form, (f"digest: {fault}" for fault in why.faults))
            else:
                self.read[number] = {"digest": digest} if digest else {}


def initial_of(plan: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What the two lists show at first: the subjects of a plan, and each condition once.

    A condition that every subject has, with the same words, is one for every subject.
    """
    rows = plan.get("subjects", [])
    if not rows:
        return [{}], [{"name": "default", "system_message": ""}]
    subjects = [initial_of_subject(row) for row in rows]
    conditions: list[dict[str, Any]] = []
    shared = [one for one in rows[0]["conditions"] if all(one in row["conditions"] for row in rows)]
    conditions += shared
    for number, row in enumerate(rows, start=1):
        conditions += [{**one, "of": str(number)} for one in row["conditions"] if one not in shared]
    return subjects, conditions


class PreregistrationForm(OfADraft, forms.Form):
    """What is compared, by which rules: the text that is hashed, and what is read from it."""

    preregistration = forms.CharField(
        label="Pre-registration",
        required=False,
        strip=False,
        max_length=LARGEST_FILE,
        widget=area(14),
        help_text="It is hashed as written when the plan is locked, and never changes after.",
    )
    comparisons = forms.MultipleChoiceField(
        label="Comparisons", required=False, widget=forms.CheckboxSelectMultiple
    )
    exclusion_rule = forms.CharField(
        label="Exclusion rule",
        required=False,
        max_length=LONGEST_RULE,
        widget=area(3),
        help_text="What is left out of the analysis, and when.",
    )
    agreement_floor = forms.FloatField(
        label="Agreement floor",
        required=False,
        help_text="The ordinal alpha below which the wave says nothing of subjects.",
    )
    margin = forms.FloatField(
        label="Margin of parity, in levels", required=False, initial=PARITY_MARGIN
    )
    correction = forms.ChoiceField(
        label="Correction for many comparisons", choices=list(CORRECTION_NAMES.items())
    )

    def __init__(self, data: Any = None, *, plan: Mapping[str, Any]) -> None:
        self.runs = runs_in(dict(plan))
        self.possible = possible_comparisons(self.runs)
        declared = plan.get("declared", {})
        sides = {frozenset((row["a"], row["b"])) for row in declared.get("comparisons", ())}
        chosen = [str(one) for one in self.possible if frozenset((one.a, one.b)) in sides]
        super().__init__(
            data,
            initial={
                **declared,
                "preregistration": plan.get("preregistration", ""),
                "comparisons": chosen,
            },
        )
        self.fields["comparisons"].choices = [  # type: ignore[attr-defined]
            (str(one), f"{one.a} and {one.b} ({one.kind})") for one in self.possible
        ]

    @property
    def table(self) -> dict[str, Any]:
        """The ``preregistration`` and ``declared`` of a plan."""
        said = self.cleaned_data
        given = {
            key: said[key] for key in ("agreement_floor", "margin") if said.get(key) is not None
        }
        return {
            "preregistration": as_written(said.get("preregistration", "")),
            "declared": {
                **given,
                "exclusion_rule": as_written(said.get("exclusion_rule", "")),
                "correction": said.get("correction"),
                "comparisons": [
                    {"kind": one.kind, "a": one.a, "b": one.b}
                    for one in self.possible
                    if str(one) in said.get("comparisons", ())
                ],
            },
        }

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        if not self.errors:
            faults = in_declared(self.table["declared"], self.runs)
            tell(self, (fault.removeprefix("declared: ") for fault in faults))
        return said


class CostForm(OfADraft, forms.Form):
    """Prices, and what the wave may cost."""

    currency = forms.CharField(label="Currency", max_length=10, required=False, initial="EUR")
    ceiling = forms.FloatField(
        label="Ceiling",
        required=False,
        help_text="When this much is spent, the wave is paused. Empty: there is none.",
    )
    reply_tokens = forms.IntegerField(
        label="Tokens expected of a reply",
        required=False,
        help_text=f"For the estimate alone; {REPLY_TOKENS} where it is empty.",
    )

    def __init__(self, data: Any = None, *, plan: Mapping[str, Any]) -> None:
        self.snapshots = sorted({snapshot for snapshot, _ in runs_in(dict(plan))})
        cost = plan.get("cost", {})
        prices = {row["snapshot"]: row for row in cost.get("prices", ())}
        super().__init__(data, initial=cost)
        for number, snapshot in enumerate(self.snapshots):
            for key, label in (("input", "sent"), ("output", "received")):
                self.fields[f"{key}_{number}"] = forms.FloatField(
                    label=f"A million tokens {label}",
                    required=False,
                    min_value=0,
                    initial=prices.get(snapshot, {}).get(key),
                )

    @property
    def prices(self) -> list[tuple[str, list[forms.BoundField]]]:
        """Each snapshot with its two fields."""
        return [
            (snapshot, [self[f"input_{number}"], self[f"output_{number}"]])
            for number, snapshot in enumerate(self.snapshots)
        ]

    @property
    def table(self) -> dict[str, Any]:
        """The ``cost`` of a plan."""
        said = self.cleaned_data
        keys = ("currency", "ceiling", "reply_tokens")
        table: dict[str, Any] = {key: said[key] for key in keys if said.get(key) not in (None, "")}
        table["prices"] = [
            {
                "snapshot": snapshot,
                **{
                    key: price
                    for key in ("input", "output")
                    if (price := said.get(f"{key}_{number}")) is not None
                },
            }
            for number, snapshot in enumerate(self.snapshots)
            if said.get(f"input_{number}") is not None or said.get(f"output_{number}") is not None
        ]
        return table

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        if not self.errors:
            faults = in_cost(self.table, self.snapshots)
            tell(self, (fault.removeprefix("cost: ") for fault in faults))
        return said


class FileForm(forms.Form):
    """A plan file, in the place of what was typed."""

    file = forms.FileField(
        label="Plan file",
        help_text="The TOML file that the command reads. It takes the place of this draft.",
        error_messages={"required": "Choose a file."},
    )

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > LARGEST_FILE:
            raise forms.ValidationError(
                f"It is larger than a plan may be, which is {LARGEST_FILE:,} bytes."
            )
        return file


class LockForm(OfADraft, forms.Form):
    read = forms.BooleanField(
        label="I have read what it takes and what it could show, and the plan may close",
        error_messages={"required": "Tick that you have read it."},
    )


class ActForm(forms.Form):
    """Pause, resume or cancel: which runs, and why."""

    run = forms.ChoiceField(label="Which", required=False)
    reason = forms.CharField(
        label="Reason",
        max_length=500,
        help_text="It is kept in the log, with your name and the time.",
        error_messages={"required": "Say why, in a few words."},
    )

    def __init__(self, data: Any = None, *, runs: Sequence[tuple[int, str]]) -> None:
        super().__init__(data, auto_id="act_%s")
        names = [(str(pk), name) for pk, name in runs]
        self.fields["run"].choices = [("", "The whole wave"), *names]  # type: ignore[attr-defined]


class DeviationForm(forms.Form):
    text = forms.CharField(
        label="What is done otherwise, and why",
        max_length=LONGEST_RULE,
        widget=area(3),
        error_messages={"required": "Say what is done otherwise, and why."},
    )


class CeilingForm(forms.Form):
    amount = forms.DecimalField(
        label="New ceiling",
        min_value=0,
        max_digits=10,
        decimal_places=2,
        error_messages={"required": "Name an amount."},
    )
    reason = forms.CharField(
        label="Reason", max_length=500, error_messages={"required": "Say why, in a few words."}
    )


def _whole(value: Any) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0


def _on_page(fault: str) -> str:
    """A fault of a plan file, in the words of the page."""
    fault = fault.replace("there must be at least one [[subjects]] table", "add at least one")
    fault = re.sub(
        r"there must be at least one \[\[subjects.conditions\]\] table,\s+with.*",
        "add a condition for it; its system message may be empty.",
        fault,
    )
    return fault[:1].upper() + fault[1:]
