"""The table of settings in docs/operating.md, made from compassion/settings.py.

    python docs/settings_table.py            # print it
    python docs/settings_table.py --write    # put it in its place

What a setting is for is the comment beside it, or else the one above it. A test sees that the table
is what this makes, and that no setting is without a word.
"""

import ast
import re
import sys
import tokenize
from dataclasses import dataclass
from math import prod
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = ROOT / "compassion" / "settings.py"
PAGE = ROOT / "docs" / "operating.md"
BEGIN, END = "<!-- settings: made by docs/settings_table.py -->", "<!-- end of settings -->"
KINDS = {
    "env": "text",
    "env_bool": "true or false",
    "env_int": "whole number",
    "env_float": "number",
    "env_list": "list, with commas",
}
#: For operators, where the comment in the settings is for whoever reads the code, or there is none.
WORDS = {
    "VAR_DIR": "The folder for all that is kept in files: SQLite, the broker's messages, static files.",
    "DEBUG": "For development alone: pages of faults show code.",
    "SECRET_KEY": "Signs sessions, links and forms. Without one, a key is made once and kept in `VAR_DIR`. The same for all web processes and workers.",
    "ALLOWED_HOSTS": "The names under which people reach the site.",
    "CSRF_TRUSTED_ORIGINS": "Its addresses with `https://`, where a proxy speaks HTTPS in front of it.",
    "DATABASE_URL": "`postgres://who:password@host:5432/name`, or `sqlite:///path`.",
    "CELERY_BROKER_URL": "`redis://host:6379/0`, which is the shared cache too; or files below `VAR_DIR`, for one machine.",
    "INVITATION_DAYS": "How long the link of an invitation works.",
    "SESSION_HOURS": "How long somebody stays signed in.",
    "EMAIL_HOST": "The server that mail is sent through. Without one none is sent, and nothing is offered that would need it.",
    "EMAIL_PORT": "Its port.",
    "EMAIL_HOST_USER": "Who we are to it.",
    "EMAIL_HOST_PASSWORD": "And the password.",
    "EMAIL_USE_TLS": "Whether mail is handed over by STARTTLS.",
    "DEFAULT_FROM_EMAIL": "Whom mail comes from.",
    "SITE_URL": "Where links in a mail lead that no request asked for. Default: the first of `CSRF_TRUSTED_ORIGINS`.",
    "LEASE_MINUTES": "How long a card is held for a rater who does not touch it.",
    "UNDO_MINUTES": "How long a rating can be taken back.",
    "RATINGS_A_DAY": "The most that a rater gives in a day; 0: as many as they like.",
    "HARD_TOPICS_A_DAY": "The most responses about hard topics that somebody is shown in a day.",
    "ADJUDICATE_AT": "Two ratings so many levels apart are settled by a third person.",
    "ADJUDICATE_SAMPLE_PERCENT": "And of a hundred others so many, drawn beforehand.",
    "PRACTICE_ITEMS": "How many responses a new rater practises on.",
    "QUALIFY_ITEMS": "How many agreed responses the qualification holds.",
    "QUALIFY_WITHIN_ONE": "How many of them must lie within one level of what was agreed.",
    "QUALIFY_EXACT": "How many must be the same.",
    "QUALIFY_AGAIN_DAYS": "After so many days somebody may try again.",
    "SEED_PERCENT": "Of a hundred cards so many are agreed responses, which nobody can tell from others; 0: none.",
    "REPEAT_PERCENT": "And so many are ones the rater had before; 0: none.",
    "REPEAT_AFTER": "After so many cards one may come again.",
    "SEED_MISSES": "More than so many of the last ten beyond their tolerance, and rating is paused.",
    "SEED_EARLIER_RATINGS": "What somebody who is paused reads about their earlier ratings.",
    "REST_OFFER_MINUTES": "After so many minutes of active reading a rest is offered; 0: never.",
    "ITEM_WITHIN_ONE_PERCENT": "The limit of an item, declared beforehand: its two ratings lie within one level so often, in a hundred.",
    "ITEM_MEAN_MARGIN": "And its mean keeps so many levels away from either end of the scale.",
    "SUPPORT_LINE": "The line at the foot of every page: whom to call, in your country.",
    "SUPPORT_LINES_FILE": "Support lines by country, TOML or JSON, of which people choose theirs.",
    "OPENAI_API_KEY_ENV": "The name of the variable that holds the key for OpenAI's protocol. With `_HOST` after it, the key for one host: see [subjects.md](subjects.md).",
    "ANTHROPIC_API_KEY_ENV": "The same for Anthropic's protocol.",
    "ASK_IN_FLIGHT": "How many calls are on their way to a subject at once, where it states no limit of its own.",
    "ASK_TIMEOUT_SECONDS": "How long an attempt may take as a whole.",
    "ASK_IDLE_SECONDS": "How long it may pass without a byte.",
    "HTTPS": "The site is reached by HTTPS alone: cookies, redirects and HSTS follow.",
    "BEHIND_PROXY": "A proxy in front says by `X-Forwarded-Proto` how it was reached. Only where it also removes that header from what comes to it.",
    "PROXIES": "How many proxies stand in a row in front. The sender of a request is the address that the outermost of them wrote into `X-Forwarded-For`.",
    "API_REQUESTS_A_MINUTE": "Requests that one token may make in a minute.",
    "API_REQUESTS_A_MINUTE_BY_ADDRESS": "And one address, with no token or a wrong one.",
    "API_BODY_BYTES": "The most that a request may bring.",
    "WEB_BIND": "Where gunicorn listens.",
    "WEB_WORKERS": "Its processes: about as many as there are cores.",
    "WEB_THREADS": "Threads of each: requests that are answered at once.",
    "TIME_ZONE": "When a day begins, for limits by the day and for times on pages.",
    "LOG_LEVEL": "The least that is logged: `DEBUG`, `INFO`, `WARNING`, `ERROR`.",
    "LOG_FORMAT": "`json`: one object a line; `plain`: for a person at a terminal.",
}


@dataclass(frozen=True)
class Setting:
    """One variable of the environment."""

    name: str
    kind: str
    default: str
    about: str
    group: str


def settings_of(path: Path = SETTINGS) -> list[Setting]:
    """Every variable that the settings read, in their order, each once."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    comments = _comments(path)
    groups = _groups(lines)
    found: dict[str, Setting] = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, (ast.FunctionDef, ast.Import, ast.ImportFrom)):
            continue
        for call in ast.walk(statement):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                continue
            if call.func.id not in KINDS or not isinstance(call.args[0], ast.Constant):
                continue
            name = str(call.args[0].value)
            group = [title for line, title in groups if line < call.lineno]
            found.setdefault(
                name,
                Setting(
                    name,
                    KINDS[call.func.id],
                    _default(call),
                    WORDS.get(name) or _about(statement, call, comments),
                    group[-1] if group else "This place",
                ),
            )
    return list(found.values())


def table(path: Path = SETTINGS) -> str:
    """All of them as Markdown, a table for each part of the settings."""
    every = settings_of(path)
    parts = []
    for group in dict.fromkeys(one.group for one in every):
        rows = [
            f"| `{one.name}` | {one.kind} | {one.default} | {one.about} |"
            for one in every
            if one.group == group
        ]
        parts.append(
            "\n".join([f"### {group}\n", "| variable | holds | default | what for |",
                       "| --- | --- | --- | --- |", *rows])
        )  # fmt: skip
    return "\n\n".join(parts)


def with_table(page: str) -> str:
    """The page with the table in its place."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def _comments(path: Path) -> dict[int, tuple[bool, str]]:
    """By line: whether the comment stands alone there, and what it says."""
    with tokenize.open(path) as file:
        return {
            token.start[0]: (
                not token.line[: token.start[1]].strip(),
                token.string.lstrip("# ").rstrip(),
            )
            for token in tokenize.generate_tokens(file.readline)
            if token.type == tokenize.COMMENT
        }


def _groups(lines: list[str]) -> list[tuple[int, str]]:
    """The headings: a comment between two empty lines."""
    return [
        (number, re.split(r"[:.]", line.lstrip("# "))[0])
        for number, line in enumerate(lines, start=1)
        if line.startswith("# ") and number > 1 and not lines[number - 2] and not lines[number]
    ]


def _default(call: ast.Call) -> str:
    if len(call.args) < 2:
        return "false" if call.func.id == "env_bool" else "–"  # type: ignore[attr-defined]
    given = call.args[1]
    if isinstance(given, ast.Constant):
        said = str(given.value).lower() if isinstance(given.value, bool) else str(given.value)
        return f"`{said}`" if said else "–"
    text = ast.unparse(given)
    paths = re.findall(r"'([^']+)'", text) if "DIR" in text else []
    if paths:
        whole = "".join(paths) if "sqlite" in text else "/".join(paths)
        return f"`sqlite:///var/{whole}`" if "sqlite" in text else f"`{whole}`"
    factors = [part.strip() for part in text.split("*")]
    if all(factor.isdigit() for factor in factors):
        return f"`{prod(map(int, factors))}`"
    return "see right"


def _about(statement: ast.stmt, call: ast.Call, comments: dict[int, tuple[bool, str]]) -> str:
    for line in range(call.lineno, (statement.end_lineno or call.lineno) + 1):
        alone, said = comments.get(line, (True, ""))
        if said and not alone and line <= (call.end_lineno or line):
            return _sentence(said)
    above: list[str] = []
    line = call.lineno - 1 if call.lineno > statement.lineno else statement.lineno - 1
    while line in comments and comments[line][0]:
        above.insert(0, comments[line][1])
        line -= 1
    return _sentence(" ".join(above))


def _sentence(text: str) -> str:
    text = text.replace("``", "`").replace("|", "\\|").strip()
    return f"{text[:1].upper()}{text[1:]}" if text else ""


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(table())
