"""One subject of a plan, on a page: a registered one, or all that identifies a new one."""

from collections.abc import Mapping
from typing import Any, Final

from django import forms

from runs.models import NOT_STATED, Provider, Subject
from runs.plan_file import IDENTITY_KEYS, LIMIT_KEYS, SAMPLING_KEYS
from runs.registry import MODERATION, RUNTIMES, SURFACES, SYSTEM_PROMPTS

TEXTS: Final = (
    "developer",
    "family",
    "snapshot",
    "base_url",
    "digest",
    "access_tier",
    "quantisation",
    "region",
)
CHOSEN: Final = (
    "provider",
    "runtime",
    "product_surface",
    "system_prompt_status",
    "moderation_layer",
)
LISTS: Final = ("aliases", "tools")
#: Keys of a subject's table that this page can change. What else a file states is carried through.
ON_PAGE: Final = (*TEXTS, *CHOSEN, *LISTS, "first_seen_date", "sampling", "limits", "conditions")
NAMED_BY: Final = ("developer", "family", "snapshot")

GROUPS: Final = (
    ("Who it is", ("developer", "family", "snapshot", "digest")),
    ("Where it is asked", ("provider", "base_url", "runtime")),
    (
        "What is known of the service",
        (
            "access_tier",
            "quantisation",
            "product_surface",
            "system_prompt_status",
            "moderation_layer",
        ),
    ),
    ("How it is asked", ("temperature", "top_p", "max_tokens", "max_completion_tokens")),
    ("How fast it may be asked", ("in_flight", "requests_a_minute", "tokens_a_minute")),
)
RARE: Final = (
    "region",
    "aliases",
    "tools",
    "first_seen_date",
    "context_limit",
    "attempt_seconds",
    "idle_seconds",
)


def known(values: tuple[str, ...]) -> list[tuple[str, str]]:
    """The values of a key to choose from, in words; or none of them."""
    return [("", "not stated"), *((one, one.replace("_", " ")) for one in values)]


def text(label: str, most: int, help_text: str = "") -> forms.CharField:
    return forms.CharField(label=label, max_length=most, required=False, help_text=help_text)


def whole(label: str, help_text: str = "") -> forms.IntegerField:
    return forms.IntegerField(label=label, required=False, help_text=help_text)


def choice(label: str, values: tuple[str, ...], help_text: str = "") -> forms.ChoiceField:
    return forms.ChoiceField(
        label=label, choices=known(values), required=False, help_text=help_text
    )


def lines(label: str, help_text: str) -> forms.CharField:
    area = forms.Textarea(attrs={"rows": 2})
    return forms.CharField(
        label=label, required=False, max_length=20_000, widget=area, help_text=help_text
    )


class SubjectForm(forms.Form):
    """One subject: a registered one, or what identifies a new one."""

    registered = forms.ChoiceField(
        label="Subject",
        required=False,
        help_text="Of a registered one nothing below is read but how fast it may be asked.",
    )
    developer = text("Developer", 100)
    family = text("Family", 100)
    snapshot = text("Snapshot", 200, "The exact, dated name; no alias that moves.")
    digest = text(
        "Digest",
        100,
        "Of its weights, or their revision. Of a local runtime it is read from there if it is empty.",
    )
    provider = forms.ChoiceField(label="Provider", choices=Provider.choices, required=False)
    base_url = text("Address", 300, "Empty for the usual one of OpenAI or Anthropic.")
    runtime = choice("Local runtime", RUNTIMES, "Where a server of your own answers.")
    access_tier = text("Access tier", 100, f"Where nothing is known, write: {NOT_STATED}")
    quantisation = text("Quantisation", 100, f"Where nothing is known, write: {NOT_STATED}")
    product_surface = choice("Product surface", SURFACES)
    system_prompt_status = choice(
        "System message of its own", SYSTEM_PROMPTS, "Whether the service adds one."
    )
    moderation_layer = choice("Moderation layer", MODERATION)
    temperature = forms.FloatField(label="Temperature", required=False)
    top_p = forms.FloatField(label="Top p", required=False)
    max_tokens = whole("Most tokens of a reply", "Anthropic must be told it.")
    max_completion_tokens = whole("Most completion tokens", "Where a service names it so.")
    in_flight = whole("Calls at once")
    requests_a_minute = whole("Requests a minute")
    tokens_a_minute = whole("Tokens a minute")
    region = text("Region", 100)
    aliases = lines("Other names", "One in a line.")
    tools = lines("Tools", "One in a line.")
    first_seen_date = forms.DateField(
        label="First seen", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    context_limit = whole("Context limit, in tokens", "Recorded, and not sent.")
    attempt_seconds = forms.FloatField(label="Seconds for an attempt", required=False)
    idle_seconds = forms.FloatField(label="Seconds without a byte", required=False)
    # Which subject of the draft this was: what the page does not show is carried along with it.
    was = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, plan: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        codes = Subject.objects.order_by("code").values_list("code", flat=True)
        self.fields["registered"].choices = [  # type: ignore[attr-defined]
            ("", "A new one, described below"),
            *((code, code) for code in codes),
        ]
        rows = {name_of(row): row for row in plan.get("subjects", ())}
        row = rows.get(self["was"].value() or "", {})
        self.carried = {key: value for key, value in row.items() if key not in ON_PAGE}

    @property
    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The fields that describe a new subject, under a heading each."""
        return [(title, [self[name] for name in names]) for title, names in GROUPS]

    @property
    def rare(self) -> list[forms.BoundField]:
        return [self[name] for name in RARE]

    @property
    def rare_said(self) -> bool:
        """Whether one of the rare fields holds something, or is wrong."""
        return any(field.errors or field.value() not in (None, "") for field in self.rare)

    @property
    def is_empty(self) -> bool:
        said = self.cleaned_data
        return not said.get("registered") and not any(said.get(key) for key in TEXTS)

    @property
    def table(self) -> dict[str, Any]:
        """The table of a plan file, without its conditions."""
        said = self.cleaned_data
        limits = _given(said, LIMIT_KEYS)
        if code := said.get("registered"):
            return {
                **stated_of(Subject.objects.get(code=code)),
                **({"limits": limits} if limits else {}),
            }
        row: dict[str, Any] = {key: said.get(key, "").strip() for key in TEXTS}
        row |= {key: said.get(key, "") for key in CHOSEN}
        row |= {key: [one.strip() for one in said.get(key, "").splitlines()] for key in LISTS}
        row |= {key: list(filter(None, row[key])) for key in LISTS}
        if day := said.get("first_seen_date"):
            row["first_seen_date"] = day.isoformat()
        row["limits"] = limits
        return {**filled(row), "sampling": _given(said, SAMPLING_KEYS), **self.carried}


def name_of(row: Mapping[str, Any]) -> str:
    """What tells the subjects of a draft apart."""
    return "\n".join(str(row.get(key, "")) for key in NAMED_BY)


def initial_of_subject(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the form of a subject shows at first."""
    shown = {**row, **row.get("sampling", {}), **row.get("limits", {}), "was": name_of(row)}
    return shown | {key: "\n".join(row.get(key, ())) for key in LISTS}


def stated_of(subject: Subject) -> dict[str, Any]:
    """A registered subject as a plan file states it."""
    row = filled({key: getattr(subject, key) for key in IDENTITY_KEYS})
    if subject.first_seen_date:
        row["first_seen_date"] = subject.first_seen_date.isoformat()
    return row


def filled(row: Mapping[str, Any]) -> dict[str, Any]:
    """Without what was left empty."""
    return {key: value for key, value in row.items() if value not in ("", None, [], {})}


def _given(said: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: said[key] for key in keys if said.get(key) is not None}
