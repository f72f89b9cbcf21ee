"""What the product stands on: whose licences, which known faults, and what exactly is installed.

``make audit`` runs it. A licence that is not on the list in ``pyproject.toml``, a requirement
without its hash or a known vulnerability ends it with an error. Where no source of vulnerabilities
answers, it says in capitals that nothing was looked up, and does not pretend otherwise.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from license_expression import LicenseSymbol, get_spdx_licensing

ROOT = Path(__file__).resolve().parent.parent
SBOM = ROOT / "var" / "sbom.json"
REQUIREMENTS = ("requirements.txt", "requirements-dev.txt")
SOURCES = ("pypi", "osv")
SECONDS = 15
# The names that packages give to licences, in the words of SPDX.
SPDX = {
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd license": "BSD-3-Clause",
    "bsd": "BSD-3-Clause",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "other/proprietary license": "LicenseRef-Other",
    "python software foundation license": "PSF-2.0",
    "the unlicense (unlicense)": "Unlicense",
}
FONT_LICENCE = "SIL OPEN FONT LICENSE"
PINNED = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^\]]+\])?==\S+", re.MULTILINE)
ADDRESS = re.compile(
    r"^\s*(?:-i|-f|--(?:extra-)?index[-]url|--find[-]links|--trusted-host)\b|https?://",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Rules:
    """Which licences anything may have, and which packages are let through for a reason."""

    allowed: frozenset[str]
    exceptions: Mapping[str, str]

    @classmethod
    def of(cls, text: str) -> "Rules":
        found = tomllib.loads(text)["tool"]["licences"]
        return cls(frozenset(found["allowed"]), found["exceptions"])


def stated(package: Distribution) -> str:
    """The licence a package states, as an SPDX expression; empty where it states none."""
    about = package.metadata
    if expression := about.get("License-Expression"):
        return str(expression)
    names = [
        line.rpartition(" :: ")[2]
        for line in about.get_all("Classifier") or ()
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    if not names and len(text := (about.get("License") or "").strip()) < 60 and text:
        names = [text]
    # Of several nobody says whether they are a choice: all of them must be allowed.
    return " AND ".join(SPDX.get(name.lower(), name.replace(" ", "-")) for name in names)


def is_allowed(expression: str, allowed: frozenset[str]) -> bool:
    """Whether a licence may be kept to by keeping to allowed ones alone."""
    licensing = get_spdx_licensing()
    try:
        parsed = licensing.parse(expression)
    except Exception:  # the library has several, and each means that nobody can read it
        return False
    return parsed is not None and _holds(parsed, allowed)


def _holds(parsed: Any, allowed: frozenset[str]) -> bool:
    if isinstance(parsed, LicenseSymbol) or not getattr(parsed, "args", ()):
        return str(parsed) in allowed
    parts = [_holds(one, allowed) for one in parsed.args]
    return any(parts) if type(parsed).__name__ == "OR" else all(parts)


def licence_faults(
    packages: Iterator[Distribution] | list[Distribution], rules: Rules
) -> Iterator[str]:
    """The packages whose licence nobody has agreed to, and the exceptions that nothing needs."""
    needed = set()
    for package in sorted(packages, key=lambda one: one.name.lower()):
        name, licence = package.name.lower().replace("_", "-"), stated(package)
        if is_allowed(licence, rules.allowed):
            continue
        if name in rules.exceptions:
            needed.add(name)
        else:
            yield f"{package.name} {package.version}: its licence is {licence or 'not stated'}."
    for name in sorted(rules.exceptions.keys() - needed):
        yield f"{name}: stands among the exceptions in pyproject.toml, and needs none."


def font_faults(root: Path) -> Iterator[str]:
    """The fonts without the text of their licence beside them."""
    for folder in (root / "fonts", root / "static" / "fonts"):
        texts = {path.name.split(".")[0]: path.read_text() for path in folder.glob("*.LICENSE.txt")}
        for path in sorted([*folder.glob("*.ttf"), *folder.glob("*.woff2")]):
            own = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", path.stem).lower()
            text = next(
                (
                    texts[name]
                    for name in sorted(texts, key=len, reverse=True)
                    if own.startswith(name)
                ),
                "",
            )
            if FONT_LICENCE not in text.upper():
                yield f"{path.relative_to(root)}: no {FONT_LICENCE} stands beside it."


def script_faults(root: Path) -> Iterator[str]:
    """Scripts of others among our own: all of theirs come as packages, with their licences."""
    for path in sorted((root / "static").rglob("*.js")):
        if re.search(r"@license|copyright \(c\)|licensed under", path.read_text(), re.IGNORECASE):
            yield f"{path.relative_to(root)}: speaks of a licence; take it from a package instead."


def pin_faults(root: Path) -> Iterator[str]:
    """Requirements without a version and its hash, and addresses of an index."""
    for name in REQUIREMENTS:
        text = (root / name).read_text()
        for entry in re.split(r"\n(?=\S)", text):
            if entry.strip().startswith(("#", "-r")) or not entry.strip():
                continue
            if not PINNED.match(entry) or "--hash=sha256:" not in entry:
                yield f"{name}: {entry.splitlines()[0]} has no version with a hash."
        if found := ADDRESS.search(text):
            yield f"{name}: holds an address, {found[0].strip()!r}."


@dataclass(frozen=True)
class Looked:
    """What came of asking for known vulnerabilities: how many packages were looked up, and found."""

    source: str
    asked: int
    unknown: tuple[str, ...]
    found: tuple[str, ...]


def vulnerabilities() -> Looked | None:
    """Known faults of all that is pinned; None where no source answers."""
    for source in SOURCES:
        command = [
            sys.executable,
            "-m",
            "pip_audit",
            "--disable-pip",
            "--require-hashes",
            "--progress-spinner=off",
        ]
        command += [part for name in REQUIREMENTS for part in ("-r", str(ROOT / name))]
        command += [
            "--vulnerability-service",
            source,
            "--timeout",
            str(SECONDS),
            "--format",
            "json",
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
            looked = read_audit(source, json.loads(done.stdout))
        except (ValueError, subprocess.TimeoutExpired):
            continue
        if looked.asked:
            return looked
    return None


def read_audit(source: str, told: Mapping[str, Any]) -> Looked:
    """What pip-audit told. A package that it skipped was not looked up, whatever it says at the end."""
    asked = [one for one in told["dependencies"] if "skip_reason" not in one]
    return Looked(
        source,
        len(asked),
        tuple(one["name"] for one in told["dependencies"] if "skip_reason" in one),
        tuple(
            f"{one['name']} {one['version']}: {fault['id']}, mended in {', '.join(fault['fix_versions']) or 'nothing yet'}"
            for one in asked
            for fault in one["vulns"]
        ),
    )


def write_sbom(path: Path) -> int:
    """A bill of materials in CycloneDX; how many parts it names."""
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.output.json import JsonV1Dot5
    from packageurl import PackageURL

    bom = Bom()
    bom.metadata.component = Component(name="compassion", type=ComponentType.APPLICATION)
    for package in sorted(distributions(), key=lambda one: one.name.lower()):
        name = package.name.lower().replace("_", "-")
        bom.components.add(
            Component(
                name=name,
                version=package.version,
                type=ComponentType.LIBRARY,
                purl=PackageURL("pypi", None, name, package.version),
                bom_ref=f"{name}=={package.version}",
            )
        )
    bom.register_dependency(bom.metadata.component, bom.components)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(JsonV1Dot5(bom).output_as_string(indent=1))
    return len(bom.components)


def main() -> int:
    rules = Rules.of((ROOT / "pyproject.toml").read_text())
    faults = [
        *licence_faults(list(distributions()), rules),
        *font_faults(ROOT),
        *script_faults(ROOT),
        *pin_faults(ROOT),
    ]
    print(f"{write_sbom(SBOM)} packages are installed; {SBOM.relative_to(ROOT)} names them.")
    for name, reason in sorted(rules.exceptions.items()):
        print(f"  let through: {name}: {reason}")
    looked = vulnerabilities()
    if looked is None:
        print(
            "\n*** NOT AUDITED: no source of known vulnerabilities answered "
            f"({', '.join(SOURCES)}). ***\n*** Run `make audit` where the network answers "
            "before anything is released. ***\n"
        )
    else:
        print(f"{looked.asked} packages were looked up at {looked.source}.")
        if looked.unknown:
            print(
                f"*** NOT LOOKED UP, {looked.source} does not know them: {', '.join(looked.unknown)} ***"
            )
        faults += looked.found
    for fault in faults:
        print(f"fault: {fault}", file=sys.stderr)
    if not faults:
        print("Every licence is one we agreed to, every font has its own, every pin has its hash.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
