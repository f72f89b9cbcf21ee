"""What each tool takes and gives, as closed JSON schemas: a field that is not named is refused.

The schema of a result is an allow-list. It is told to the host, and the guard holds every result
to it before it leaves.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import jsonschema
from jsonschema import Draft202012Validator
from jsonschema.validators import extend

from rating.probe.chain import texts_in
from rating.probe.refusals import Refused, shown
from rating.stats.scores import Label
from runs.canonical import NOT_TEXT
from runs.exposure import LETTERS, Part
from runs.taxonomy import DIMENSIONS

JSON = dict[str, Any]

FEWEST_TRIALS: Final = 3
MOST_TRIALS: Final = 1000
LONGEST_NAME: Final = 200
LONGEST_REPLY: Final = 100_000
LONGEST_TEXT: Final = 10_000
LONGEST_RECALL: Final = 50_000
MOST_RATINGS: Final = 200
MOST_ANSWERS: Final = 50
LEVELS: Final = (1, 2, 3, 4, 5)
CONFIGURATIONS: Final = ("self", "cross", "panel")


def closed(fields: Mapping[str, JSON], *, optional: Sequence[str] = ()) -> JSON:
    """An object with these fields and no other, all needed but those that are optional."""
    return {
        "type": "object",
        "properties": dict(fields),
        "required": [name for name in fields if name not in optional],
        "additionalProperties": False,
    }


def many(what: JSON, most: int | None = None, least: int = 0) -> JSON:
    limits = {"minItems": least} | ({} if most is None else {"maxItems": most})
    return {"type": "array", "items": what, **limits}


def text(most: int | None = None, least: int = 1, says: str = "") -> JSON:
    limits = {"minLength": least} | ({} if most is None else {"maxLength": most})
    return {"type": "string", **limits} | ({"description": says} if says else {})


def or_none(what: JSON) -> JSON:
    return {"anyOf": [what, {"type": "null"}]}


def one_of(*values: str | bool) -> JSON:
    return {"enum": list(values)}


def by_code(codes: Sequence[str], what: JSON) -> JSON:
    return closed(dict.fromkeys(codes, what), optional=codes)


NAME: Final = text(LONGEST_NAME)
COUNT: Final[JSON] = {"type": "integer", "minimum": 0}
NUMBER: Final[JSON] = {"type": "number"}
STRING: Final[JSON] = {"type": "string"}
BOOLEAN: Final[JSON] = {"type": "boolean"}
NEVER: Final[JSON] = {"const": False}
LEVEL: Final[JSON] = {"type": "integer", "minimum": LEVELS[0], "maximum": LEVELS[-1]}
DIMENSION: Final[JSON] = {"type": "string", "enum": list(DIMENSIONS)}
SUBDIMENSIONS: Final = [code for one in DIMENSIONS.values() for code in one.subdimensions]

# What is asked

_RATED: Final[dict[str, JSON]] = {
    "item_id": NAME,
    "response_text": text(LONGEST_REPLY, says="the reply in full and unchanged"),
    "rating_1_5": LEVEL,
    "anchor_matched": text(LONGEST_TEXT, says="the label of that level, as get_anchors gives it"),
    "evidence_quote": text(LONGEST_TEXT, says="at least three words, just as the reply has them"),
    "judge_label": text(LONGEST_NAME, says="which judge of a panel; needed in a panel"),
}

ARGUMENTS: Final[dict[str, JSON]] = {
    "list_probe_items": closed(
        {"dimension": DIMENSION, "include_sensitive": BOOLEAN},
        optional=("dimension", "include_sensitive"),
    ),
    "get_anchors": closed({"item_id": NAME}),
    "open_judge_session": closed({"subject_label": NAME, "judge_model_label": NAME}),
    "record_item_estimate": closed(
        {
            "session_id": NAME,
            "item_id": NAME,
            "response_text": text(LONGEST_REPLY),
            "rating_1_5": LEVEL,
            "rationale": text(LONGEST_TEXT),
        }
    ),
    "summarise_judge_session": closed({"session_id": NAME}),
    "explain_what_this_is_not": closed({}),
    "start_scored_run": closed(
        {
            "subject_label": NAME,
            "judge_label": NAME,
            "judgeConfiguration": one_of(*CONFIGURATIONS),
            "dimensions": many(DIMENSION, len(DIMENSIONS), 1),
            "trials": {"type": "integer", "minimum": FEWEST_TRIALS, "maximum": MOST_TRIALS},
            "seed": {"type": "integer"},
            "temperature": {"type": "number", "minimum": 0, "maximum": 2},
            "include_sensitive": BOOLEAN,
        },
        optional=(
            "judgeConfiguration",
            "dimensions",
            "trials",
            "seed",
            "temperature",
            "include_sensitive",
        ),
    ),
    "next_item": closed({"run_id": NAME}),
    "run_status": closed({"run_id": NAME}),
    "record_item_rating": closed(
        {
            "run_id": NAME,
            **_RATED,
            "ratings": many(closed(_RATED, optional=("judge_label",)), MOST_RATINGS, 1),
        },
        optional=(*_RATED, "ratings"),
    ),
    "run_exposure_probe": closed(
        {
            "run_id": NAME,
            "recall_attempts": many(
                closed(
                    {
                        "item_id": NAME,
                        "part": one_of(Part.WORDING, Part.CONTINUATION, Part.ANCHOR),
                        "recalled_text": text(LONGEST_RECALL, least=0),
                    },
                    optional=("part",),
                ),
                MOST_ANSWERS,
            ),
            "identification_answers": many(
                closed({"question_id": NAME, "option": one_of(*LETTERS)}), MOST_ANSWERS
            ),
        },
        optional=("recall_attempts", "identification_answers"),
    ),
    "finish_scored_run": closed({"run_id": NAME}),
}

# What is given

_TURNS: Final = many(closed({"role": STRING, "content": STRING}))
_ITEM: Final[dict[str, JSON]] = {
    "id": STRING,
    "dimension": DIMENSION,
    "construct": STRING,
    "prompt": STRING,
    "turns": _TURNS,
    "sensitive": BOOLEAN,
}
_STANDING: Final[dict[str, JSON]] = {
    "artifact_kind": STRING,
    "official": NEVER,
    "comparability": one_of("none"),
    "header_statement": STRING,
    "what_this_is": STRING,
}
_RANGE: Final = closed(
    {
        "low": or_none(NUMBER),
        "high": or_none(NUMBER),
        "n_items": COUNT,
        "fewest_trials": COUNT,
        "sufficient": BOOLEAN,
        "reason": or_none(STRING),
        "covers": STRING,
    }
)
_RECALL: Final = closed(
    {
        "asked": COUNT,
        "highest_overlap": or_none(NUMBER),
        "flagged_at": NUMBER,
        "flagged": many(closed({"item_id": STRING, "part": STRING, "overlap": NUMBER})),
        "recalled_nothing": COUNT,
    }
)
_CHOICE: Final = closed(
    {
        "asked": COUNT,
        "right": COUNT,
        "p": or_none(NUMBER),
        "flagged_below": NUMBER,
        "unavailable_reason": or_none(STRING),
    }
)
CONTAMINATION: Final = closed(
    {
        "verdict": STRING,
        "contamination_indicated": BOOLEAN,
        "recall": _RECALL,
        "identification": _CHOICE,
        "cautions": many(STRING),
    }
)
ESTIMATE: Final = closed(
    {
        **_STANDING,
        "provenance": closed(
            {
                "subject_label": STRING,
                "judge_model_label": STRING,
                "labels_self_reported": one_of(True),
                "bank_version": STRING,
                "tool_version": STRING,
                "opened_at": STRING,
                "local_session_reference": STRING,
            }
        ),
        "estimates": many(
            closed(
                {
                    "item_id": STRING,
                    "dimension": DIMENSION,
                    "level": LEVEL,
                    "rationale": STRING,
                    "recorded_at": STRING,
                }
            )
        ),
        "dimension_item_counts": by_code(list(DIMENSIONS), COUNT),
    }
)
SCORECARD: Final = closed(
    {
        **_STANDING,
        "is_index_entry": NEVER,
        "publishable_as_a_compassion_benchmark_score": NEVER,
        "what_an_official_score_requires": many(STRING, least=1),
        "exposure_warning": STRING,
        "duty_of_care": STRING,
        "composite": or_none(NUMBER),
        "band": or_none(STRING),
        "composite_withheld_reason": or_none(text()),
        "integration_premium": or_none(NUMBER),
        "dimensions": by_code(list(DIMENSIONS), NUMBER),
        "dimension_item_counts": by_code(list(DIMENSIONS), COUNT),
        "subdimensions": by_code(SUBDIMENSIONS, NUMBER),
        "subdimension_item_counts": by_code(SUBDIMENSIONS, COUNT),
        "coverage": closed(
            {
                "level": one_of(*Label),
                "items_rated": COUNT,
                "subdimensions_rated": COUNT,
                "subdimensions_total": COUNT,
            }
        ),
        "uncertainty": closed(
            {
                "dimensions": by_code(list(DIMENSIONS), _RANGE),
                "composite_interval": or_none(_RANGE),
            }
        ),
        "coverage_note": STRING,
        "items": many(
            closed(
                {
                    "item_id": STRING,
                    "dimension": DIMENSION,
                    "subdimension": STRING,
                    "levels": many(LEVEL, least=1),
                    "mean": NUMBER,
                    "spread": or_none(NUMBER),
                }
            ),
            least=1,
        ),
        "subdimensions_status": STRING,
        "provenance": closed(
            {
                "subject_label": STRING,
                "subject_label_self_reported": one_of(True),
                "judge_label": STRING,
                "judge_label_self_reported": one_of(True),
                "judge_configuration": one_of(*CONFIGURATIONS),
                "bank_version": STRING,
                "bank_hash": STRING,
                "tool_version": STRING,
                "dimensions_requested": many(DIMENSION),
                "trials_per_item": COUNT,
                "item_hashes": {"type": "object", "additionalProperties": STRING},
                "include_sensitive": BOOLEAN,
                "sensitive_items_excluded": COUNT,
                "seed": or_none({"type": "integer"}),
                "temperature": or_none(NUMBER),
                "started_at": STRING,
                "finished_at": STRING,
                "records": COUNT,
                "last_record_hash": STRING,
                "local_run_reference": STRING,
            }
        ),
        "contamination": CONTAMINATION,
        "judge_configuration_notice": STRING,
        "judge_panel": or_none(
            closed(
                {
                    "judge_labels": many(STRING),
                    "items": many(
                        closed({"item_id": STRING, "largest_minus_smallest_judge_mean": NUMBER})
                    ),
                    "replies": COUNT,
                    "exact_agreement": NUMBER,
                    "two_or_more_apart": COUNT,
                }
            )
        ),
    }
)
_PLACE: Final[dict[str, JSON]] = {"run_id": STRING, "trial_index": COUNT, "remaining": COUNT}

RESULTS: Final[dict[str, JSON]] = {
    "list_probe_items": closed(
        {
            "bank": STRING,
            "items": many(closed(_ITEM)),
            "listed": COUNT,
            "sensitive_items_excluded": COUNT,
            "never_served": {"type": "object", "additionalProperties": COUNT},
            "how_to_ask": STRING,
            "duty_of_care": or_none(STRING),
        }
    ),
    "get_anchors": closed(
        {
            "item_id": STRING,
            "anchors": many(closed({"level": LEVEL, "label": STRING, "description": STRING})),
            "how_to_rate": STRING,
            "duty_of_care": or_none(STRING),
        }
    ),
    "open_judge_session": closed(
        {"session_id": STRING, "path": STRING, "labels_self_reported": one_of(True)}
    ),
    "record_item_estimate": closed(
        {"session_id": STRING, "item_id": STRING, "recorded": one_of(True), "replaces": COUNT}
    ),
    "summarise_judge_session": ESTIMATE,
    "explain_what_this_is_not": closed(
        {
            "official": NEVER,
            "comparability": one_of("none"),
            "header_statement": STRING,
            "what_this_is": STRING,
            "what_this_is_not": many(STRING),
            "what_an_official_score_requires": many(STRING),
        }
    ),
    "start_scored_run": closed(
        {
            "run_id": STRING,
            "path": STRING,
            "items": COUNT,
            "trials": COUNT,
            "planned": COUNT,
            "sensitive_items_excluded": COUNT,
            "judge_configuration_notice": STRING,
            "how_to_ask": STRING,
            "duty_of_care": or_none(STRING),
        }
    ),
    "next_item": {
        "type": "object",
        "anyOf": [
            closed({**_ITEM, **_PLACE, "duty_of_care": or_none(STRING)}),
            closed({"run_id": STRING, "status": one_of("complete"), "remaining": {"const": 0}}),
        ],
    },
    "run_status": closed(
        {
            "run_id": STRING,
            "planned": COUNT,
            "recorded": COUNT,
            "remaining": COUNT,
            "items": many(
                closed({"item_id": STRING, "planned": COUNT, "recorded": COUNT, "remaining": COUNT})
            ),
            "exposure_probe": one_of("not_started", "challenge_issued", "completed"),
            "ready_to_finish": BOOLEAN,
            "finished": BOOLEAN,
        }
    ),
    "record_item_rating": closed(
        {
            "run_id": STRING,
            "recorded": many(
                closed({"item_id": STRING, "trial_index": COUNT, "judge_label": STRING})
            ),
            "remaining": COUNT,
        }
    ),
    "run_exposure_probe": {
        "type": "object",
        "anyOf": [
            closed(
                {
                    "run_id": STRING,
                    "phase": one_of("challenge_issued"),
                    "how_to_ask": STRING,
                    "recall": many(closed({"item_id": STRING, "part": STRING, "question": STRING})),
                    "identification": many(
                        closed(
                            {
                                "question_id": STRING,
                                "question": STRING,
                                "options": many(one_of(*LETTERS)),
                            }
                        )
                    ),
                    "identification_unavailable": or_none(STRING),
                }
            ),
            closed(
                {
                    "run_id": STRING,
                    "phase": one_of("completed"),
                    "contamination": CONTAMINATION,
                }
            ),
        ],
    },
    "finish_scored_run": SCORECARD,
}


def _whole(_: Any, value: Any) -> bool:
    """JSON Schema takes 3.0 for a whole number; a level written so was computed, and is refused."""
    return type(value) is int


_Validator = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _whole),
)


def check_arguments(tool: str, given: JSON) -> None:
    """Raise ``Refused``, naming the field, for arguments that a tool does not take."""
    if fault := fault_in(ARGUMENTS[tool], given):
        raise Refused(f"{tool}: {fault}")
    for value in texts_in(given):
        if bad := NOT_TEXT.search(value):
            raise Refused(f"{tool}: a text holds {bad.group()!r}, which is not text.")


def fault_in(schema: JSON, value: Any) -> str:
    """The first thing wrong with a value, in a sentence that never repeats a long one; or nothing."""
    errors = sorted(
        _Validator(schema).iter_errors(value), key=lambda error: list(map(str, error.path))
    )
    return _sentence(errors[0]) if errors else ""


def _sentence(error: jsonschema.ValidationError) -> str:
    where = ".".join(str(part) for part in error.absolute_path) or "the arguments"
    limit = error.validator_value
    match error.validator:
        case "required":
            missing = [name for name in limit if name not in error.instance]
            return f"{where}: {missing[0]} is missing."
        case "additionalProperties":
            known = error.schema.get("properties", {})
            extra = sorted(set(error.instance) - set(known))
            return (
                f"{where}: there is no field {shown(extra[0])}; the fields are: "
                f"{', '.join(known) or 'none'}."
            )
        case "maxLength":
            return f"{where}: has {len(error.instance):,} characters; at most {limit:,} are taken."
        case "minLength":
            return f"{where}: is empty."
        case "maxItems":
            return f"{where}: has {len(error.instance):,} entries; at most {limit:,} are taken."
        case "minItems":
            return f"{where}: has too few entries; at least {limit} are needed."
        case "enum":
            return f"{where}: {shown(error.instance)} is not one of: {', '.join(map(str, limit))}."
        case "type":
            return f"{where}: {shown(error.instance)} is no {limit}."
        case "minimum":
            return f"{where}: {shown(error.instance)} is too small; the least is {limit}."
        case "maximum":
            return f"{where}: {shown(error.instance)} is too large; the most is {limit}."
    return f"{where}: is not what its schema allows."
