"""What each column and key of the exported files means: the one place where it is said."""

from dataclasses import dataclass
from typing import Final

from rating.export import in_csv

CSV: Final = "ratings.csv"
WIDE: Final = "ratings_wide.csv"
FACETS: Final = "facets.csv"
KEY: Final = "key.csv"
JUDGEMENTS: Final = "judgements.csv"
JSON: Final = "report.json"
MANIFEST: Final = "manifest.json"
HEAD: Final = ("file", "name", "kind", "meaning")
#: In JSON, what stands in for a name that the data give, such as that of a dimension.
ANY: Final = "…"


@dataclass(frozen=True)
class Entry:
    """A column of a table, or the key of a JSON file with the keys it stands in before it."""

    file: str
    name: str
    kind: str
    meaning: str


def _columns(file: str, *rows: tuple[str, str, str]) -> tuple[Entry, ...]:
    return tuple(Entry(file, *row) for row in rows)


RESPONSE = ("response", "code", "The random code of the response. It says nothing of who gave it.")
ITEM = ("item", "code", "The item the response answers.")
DIMENSION = ("dimension", "text", "What the item measures: its dimension, or its chamber.")
RATER = ("rater", "code", "The rater’s code name.")

AGREEMENT: Final = (
    ("n_ratings", "figure", "Counted ratings."),
    ("n_units", "figure", "Responses with at least one of them."),
    ("n_pairable_units", "figure", "Responses with two."),
    ("n_raters", "figure", "People who gave them."),
    ("percent_exact", "figure", "Share of rater pairs that chose the same level."),
    ("percent_within_one", "figure", "Share of responses whose levels differ by at most one."),
    ("alpha_ordinal", "figure", "Krippendorff’s alpha for ordinal levels; 0 is chance."),
    ("ac2_ordinal", "figure", "Gwet’s AC2 with ordinal weights; 0 is chance."),
    ("coverage", "figure", "Share of responses with two ratings."),
    ("sufficient", "true or false", "Whether there are as many pairs as alpha asks for."),
    ("unused_levels", "list of levels", "Levels of the scale that nobody chose."),
    ("level_counts", "list or null", "How often each level was chosen."),
    ("level_counts_reason", "text or null", "Why that is not told."),
    ("level_counts.level", "level", "A level of the scale."),
    ("level_counts.ratings", "count", "The ratings at that level."),
)

BLINDING: Final = (
    ("percent_of_responses", "percent", "The declared share that raters are asked about."),
    ("asked", "figure", "Questions asked about counted ratings."),
    ("answered", "figure", "Those that were answered."),
    ("unknown", "figure", "Answers of “I don’t know”."),
    (
        "asked_after_ratings_not_counted",
        "figure",
        "Questions asked after ratings that are not counted; in no other figure.",
    ),
    ("named_unasked", "figure", "Ratings whose rater said, unasked, that they know the maker."),
    ("share_unknown", "figure", "Share of answers that are “I don’t know”."),
    ("share_right", "figure", "Share right, of those who named a maker."),
    ("right", "figure", "How many were right."),
    ("right_by_chance", "figure", "How many would be by chance, on average."),
    ("permutation_p", "figure", "How often chance gives as many."),
    ("permutations", "count", "How many permutations that is told from."),
    ("james", "figure", "James’ index: 1 nobody knows, 0 all are right."),
    ("bang", "object", "Bang’s index of each maker."),
    ("bang.makers", "list or null", "A figure for each maker, with whose it is."),
    ("bang.makers.maker", "text", "The maker."),
    ("bang.makers.n", "count", "Answers about its responses."),
    ("bang.reason", "text or null", "Why there is none."),
    ("sufficient", "true or false", "Whether there are as many guesses as a claim asks for."),
    ("seed", "text", "What the permutations are drawn from."),
    ("about", "text", "How to read these figures."),
)

PROBES: Final = (
    ("contamination", "object", "Whether subjects knew the items beforehand."),
    ("contamination.verdicts", "counts by verdict", "How many subjects have each verdict."),
    ("contamination.reason", "text or null", "Why there is none."),
    ("contamination.subjects", "list", "What was asked of each subject; once unblinded."),
    ("contamination.about", "text", "How to read it."),
    ("determinism", "object", "Whether the same call gives the same reply."),
    ("determinism.subjects", "list", "What came of each subject and item; once unblinded."),
    ("determinism.reason", "text or null", "Why there is none."),
    ("determinism.about", "text", "How to read it."),
    ("reruns", "object", "Whether a second run differs from the first by more than its trials."),
    ("reruns.pairs", "list", "Each two runs of one subject; once unblinded."),
    ("reruns.reason", "text or null", "Why there is none."),
    ("reruns.about", "text", "How to read it."),
    ("sensitivity", "object", "Whether a deliberately altered subject moves as it should."),
    ("sensitivity.conditions", "list", "Each altered subject; once unblinded."),
    ("sensitivity.reason", "text or null", "Why there is none."),
    ("sensitivity.about", "text", "How to read it."),
)
ENTRIES: Final = (
    *_columns(
        CSV,
        RESPONSE,
        ITEM,
        DIMENSION,
        RATER,
        ("slot", "1, 2 or blank", "Which of the two counted ratings it is; blank if not counted."),
        ("kind", "word", "counted, or why it is in no figure: surplus, seed, repeat and so on."),
        ("level", "whole number", "The level chosen, on the scale of the bank."),
        ("confidence", "word or blank", "unsure, fairly-sure or sure; blank if not stated."),
        ("critical_harm", "true or false", "Whether the rater flagged serious harm."),
        ("quotes", "JSON list of texts", "The words of the response that earned the level."),
        ("note", "text", "What the rater wrote beside it."),
        ("rated_at", "ISO 8601, UTC", "When the rating was given."),
        ("subject", "code", "Who gave the response. Only once the wave is unblinded."),
        ("condition", "word", "Under which system message. Only once unblinded."),
        ("trial", "whole number", "Which asking of the item it is. Only once unblinded."),
    ),
    *_columns(
        WIDE,
        RESPONSE,
        ITEM,
        DIMENSION,
        (ANY, "whole number or blank", "A column for each rater by code name: their level."),
    ),
    *_columns(
        FACETS,
        RESPONSE,
        ITEM,
        DIMENSION,
        RATER,
        ("level", "whole number", "The level of a counted rating."),
    ),
    *_columns(
        JUDGEMENTS,
        RESPONSE,
        ITEM,
        DIMENSION,
        ("round", "code", "The round of judging."),
        ("configuration", "word", "panel, cross, or self: then each model judged its own replies."),
        ("purpose", "word", "judging, or bridge: a sample of an earlier round judged again."),
        ("number", "1 or 2", "Which of the response’s judgements in the round it is."),
        ("provenance", "word", "original, requoted (asked again for a quote) or rerouted."),
        ("state", "word", "answered, or why not: refused, malformed or failed."),
        (
            "stands",
            "true or false",
            "Answered, not replaced, and of a judge that was not left out.",
        ),
        ("level", "whole number or blank", "The level the judge chose."),
        ("quote", "text", "The words it gave as a quote, as it gave them."),
        ("quote_found", "word or blank", "verbatim, folded or none: whether they are there."),
        ("quote_valid", "true or false", "Found, and long enough by the rule for people’s quotes."),
        ("reason", "text", "Its reason, in one line."),
        ("fault", "word or blank", "Why the answer was not used."),
        ("judge", "code", "Which judge. Only once the wave is unblinded."),
        ("answered_at", "ISO 8601, UTC", "When it answered. Only once unblinded."),
        ("subject", "code", "Who gave the response. Only once unblinded."),
        ("condition", "word", "Under which system message. Only once unblinded."),
        ("trial", "whole number", "Which asking of the item it is. Only once unblinded."),
    ),
    *_columns(
        KEY,
        RESPONSE,
        ("subject", "code", "Who gave it."),
        ("condition", "word", "Under which system message."),
        ITEM,
        ("trial", "whole number", "Which asking of the item it is."),
        ("words", "count", "Words of the response."),
        ("characters", "count", "Characters of the response."),
        ("reading_level", "years or blank", "Years of school it reads like; English alone."),
        ("refusal", "true or false", "Whether it looks like a refusal."),
        ("cut_off", "true or false", "Whether it was cut off."),
        ("other_script", "true or false", "Whether it is in another script than was asked."),
    ),
    *_columns(
        JSON,
        ("wave", "code", "The wave."),
        ("kind", "word", "local, pilot or official, as the plan declares it."),
        ("official", "false or null", "False, or null where the conditions of the wave say it."),
        ("official_reason", "text or null", "Where that is said."),
        ("comparability", "word or null", "What it may be compared to."),
        ("bank", "text", "The bank of items and its version."),
        ("bank_hash", "SHA-256", "The hash of the bank’s content."),
        ("preregistration_hash", "SHA-256", "The hash of the plan as written."),
        ("made_at", "ISO 8601", "When these figures were computed."),
        ("overall", "agreement", "All responses together."),
        *((f"overall.{name}", kind, meaning) for name, kind, meaning in AGREEMENT),
        ("dimensions", "agreement by name", "The same of each dimension or chamber."),
        *((f"dimensions.{ANY}.{name}", kind, meaning) for name, kind, meaning in AGREEMENT),
        ("scale", "list of levels", "The levels that could be chosen, lowest first."),
        ("seed", "text", "What the resamples are drawn from."),
        ("replicates", "count", "How many resamples are behind an interval."),
        ("interval", "text", "How intervals come about, and what they are for."),
        ("about", "text", "How to read these figures."),
        ("blinding", "object", "Whether raters know who wrote what."),
        *((f"blinding.{name}", kind, meaning) for name, kind, meaning in BLINDING),
        ("probes", "object", "What is known of the subjects themselves."),
        *((f"probes.{name}", kind, meaning) for name, kind, meaning in PROBES),
    ),
    *_columns(
        MANIFEST,
        ("wave", "code", "The wave."),
        ("bank_hash", "SHA-256", "The hash of the bank’s content."),
        ("preregistration_hash", "SHA-256", "The hash of the plan as written."),
        ("seed", "text", "The wave’s seed."),
        ("files", "object by name", "Each file beside this one."),
        (f"files.{ANY}.sha256", "SHA-256", "The hash of its bytes."),
        (f"files.{ANY}.bytes", "count", "How long it is."),
    ),
)
FIGURE: Final = (
    "A figure is an object of `value`, `low` and `high`, the ends of its 95% interval, and `reason`. "
    "Where a number cannot be given it is null, and the reason says why."
)


def dictionary_csv() -> str:
    """The dictionary as a file of the export, in the CSV of our other files."""
    return in_csv(HEAD, [[e.file, e.name, e.kind, e.meaning] for e in ENTRIES])


def as_markdown() -> str:
    """The dictionary as it stands in the documents: a table for each file."""
    parts = []
    for file in dict.fromkeys(entry.file for entry in ENTRIES):
        lines = [f"## {file}", "", "| Name | Kind | Meaning |", "| --- | --- | --- |"]
        lines += [f"| `{e.name}` | {e.kind} | {e.meaning} |" for e in ENTRIES if e.file == file]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
