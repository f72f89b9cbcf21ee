"""The OpenAPI description, with what Ninja does not say of itself, and the page made from it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from rating.api.problems import MEDIA_TYPE, PROBLEMS
from rating.api.shapes import ProblemOut
from rating.publishing.schema import REPORT, Among, Maybe

REFERENCE: Final = "#/components/schemas/"
TYPES: Final = {str: "string", float: "number", int: "integer", bool: "boolean"}
WORDS: Final = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
}
FORMATS: Final = {"date-time": "moment", "uuid": "UUID"}
#: What there are several of, in a list.
KINDS: Final = {
    "object": "objects",
    "text": "texts",
    "number": "numbers",
    "whole number": "whole numbers",
}
#: What any call may be answered with, and what one of a kind may.
ALWAYS: Final = ("too-many", "internal")
WITH_TOKEN: Final = ("no-token", "scope")
WITH_BODY: Final = ("not-json", "refused", "length", "too-large", "media-type", "invalid")
LIMITS: Final = {
    "RateLimit": {
        "description": "What is left in this minute (r), and the seconds to the next (t).",
        "schema": {"type": "string"},
    },
    "RateLimit-Policy": {
        "description": "How many requests (q) there are in so many seconds (w).",
        "schema": {"type": "string"},
    },
}


def as_json_schema(spec: Any) -> dict[str, Any]:
    """The allow-list of a public report as JSON Schema."""
    if isinstance(spec, Maybe):
        return {"anyOf": [as_json_schema(spec.of), {"type": "null"}]}
    if isinstance(spec, Among):
        return {"type": "string", "enum": list(spec.values)}
    if isinstance(spec, dict):
        return {
            "type": "object",
            "properties": {key: as_json_schema(one) for key, one in spec.items()},
            "required": list(spec),
            "additionalProperties": False,
        }
    if isinstance(spec, list):
        return {"type": "array", "items": as_json_schema(spec[0])}
    return {"type": TYPES[spec]}


def completed(schema: dict[str, Any], scopes: Mapping[str, str]) -> dict[str, Any]:
    """A description with every problem, header and scope of each call."""
    schemas = schema["components"]["schemas"]
    schemas["WaveReport"] = as_json_schema(REPORT)
    problem = ProblemOut.model_json_schema(ref_template=REFERENCE + "{model}")
    schemas |= problem.pop("$defs", {})
    schemas["Problem"] = problem
    for path, methods in schema["paths"].items():
        for method, call in methods.items():
            _complete(path, method, call, scopes.get(call["operationId"], ""))
    return schema


def _complete(path: str, method: str, call: dict[str, Any], scope: str) -> None:
    call["responses"] = responses = {str(status): one for status, one in call["responses"].items()}
    call["summary"] = call["description"].split("\n\n")[0].replace("\n", " ").rstrip(".")
    if scope:
        call["security"] = [{"Token": [scope]}]
    if call["operationId"] in ("read_results", "read_report"):
        responses["200"]["content"] = {
            "application/json": {"schema": {"$ref": REFERENCE + "WaveReport"}}
        }
    told = [*ALWAYS]
    if scope:
        told += WITH_TOKEN
    if "{" in path:
        told.append("not-found")
    if method == "post":
        told += WITH_BODY
        if "{wave}" in path:
            told.append("not-found")
    elif any(one["in"] == "query" for one in call["parameters"]):
        told += ["invalid"]
    elif method == "get":
        told += ["invalid"]  # a parameter that there is not
    if call["operationId"] == "read_results":
        told.append("not-unblinded")
    for one in responses.values():
        one["headers"] = dict(LIMITS)
    if method == "get":
        responses["200"]["headers"]["ETag"] = {
            "description": "Sent back as If-None-Match, it saves what has not changed.",
            "schema": {"type": "string"},
        }
        responses["304"] = {"description": "Nothing changed since.", "headers": dict(LIMITS)}
    for name in told:
        status, title, _ = PROBLEMS[name]
        responses.setdefault(
            str(status),
            {
                "description": title,
                "content": {MEDIA_TYPE: {"schema": {"$ref": REFERENCE + "Problem"}}},
            },
        )
    if "429" in responses:
        responses["429"]["headers"] = {
            "Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}
        }


@dataclass(frozen=True)
class Part:
    """Something that is sent or comes back: a parameter, or a field of an object."""

    name: str
    kind: str
    required: bool
    about: str


@dataclass(frozen=True)
class Call:
    name: str
    method: str
    path: str
    title: str
    about: tuple[str, ...]
    scope: str
    parameters: tuple[Part, ...]
    body: tuple[Part, ...]
    answer: tuple[Part, ...]
    problems: tuple[str, ...]


@lru_cache(maxsize=1)
def calls() -> dict[str, list[Call]]:
    """Every call by its group, as the page of the API lists them."""
    from rating.api.app import description

    schema = description()
    found: dict[str, list[Call]] = {}
    for path, methods in schema["paths"].items():
        for method, call in methods.items():
            found.setdefault(call["tags"][0], []).append(_call(schema, path, method, call))
    return found


def _call(schema: Mapping[str, Any], path: str, method: str, call: Mapping[str, Any]) -> Call:
    body = call.get("requestBody", {}).get("content", {}).get("application/json", {})
    good = next(one for status, one in call["responses"].items() if status.startswith("2"))
    answer = good.get("content", {}).get("application/json", {})
    return Call(
        name=call["operationId"],
        method=method.upper(),
        path=path,
        title=call["summary"],
        about=tuple(_paragraphs(call["description"])),
        scope=next((one["Token"][0] for one in call.get("security", [])), ""),
        parameters=tuple(
            Part(
                one["name"],
                _kind(schema, one["schema"]),
                bool(one["required"]),
                one.get("description", "In the address." if one["in"] == "path" else ""),
            )
            for one in call["parameters"]
        ),
        body=tuple(_fields(schema, body.get("schema", {}))),
        answer=tuple(_fields(schema, answer.get("schema", {}))),
        problems=tuple(
            status
            for status, one in sorted(call["responses"].items())
            if MEDIA_TYPE in one.get("content", {})
        ),
    )


def _paragraphs(text: str) -> Iterator[str]:
    for part in text.split("\n\n"):
        if said := " ".join(part.split()):
            yield said


def _fields(schema: Mapping[str, Any], spec: Mapping[str, Any], prefix: str = "") -> Iterator[Part]:
    """The fields of an object, and of the objects in it, named by their place."""
    spec = _resolved(schema, spec)
    required = spec.get("required", [])
    for name, one in spec.get("properties", {}).items():
        place = f"{prefix}{name}"
        yield Part(place, _kind(schema, one), name in required, one.get("description", ""))
        inner = _resolved(schema, one)
        if prefix.count(".") > 1:
            continue
        if inner.get("type") == "array":
            yield from _fields(schema, inner["items"], f"{place}[].")
        elif inner.get("properties"):
            yield from _fields(schema, inner, f"{place}.")


def _resolved(schema: Mapping[str, Any], spec: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in ("allOf", "anyOf"):
        if key in spec:
            spec = next(one for one in spec[key] if one.get("type") != "null")
    if "$ref" in spec:
        found: Mapping[str, Any] = schema["components"]["schemas"][spec["$ref"].split("/")[-1]]
        return found
    return spec


def _kind(schema: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    """What a value is, in a few words."""
    if "anyOf" in spec:
        return " or ".join(dict.fromkeys(_kind(schema, one) for one in spec["anyOf"]))
    if "$ref" in spec or "allOf" in spec:
        return _kind(schema, _resolved(schema, spec))
    if "enum" in spec:
        return "one of " + ", ".join(map(str, spec["enum"]))
    if spec.get("type") == "array":
        inner = _kind(schema, spec["items"])
        return f"list of {KINDS.get(inner, inner)}"
    if spec.get("format") in FORMATS:
        return FORMATS[spec["format"]]
    return WORDS.get(spec.get("type", ""), "object")
