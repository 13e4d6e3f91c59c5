"""Make everything that a release uploads into dist/, check it, and print what to upload. Nothing is uploaded.

    python -m tools.release [PYTHON …] [--system FOLDER …]

Builds and proves the source distribution and a wheel for each Python (tools/wheels.py), has twine check how their pages
will render, and writes an SBOM in CycloneDX of what `pip install nnapi` installs. Exit code 1, and what went wrong,
when anything is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tomllib
from pathlib import Path

from tools import wheels
from tools.environment import Environment, FailedError

CHECKERS = ("twine>=6", "cyclonedx-bom>=7")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    wheels.add_arguments(parser)
    options = parser.parse_args()
    try:
        version = read_version()
        need_changes(version, (wheels.REPOSITORY / "CHANGELOG.md").read_text())
        made = wheels.build_and_prove(options.python, options.system)
        checkers = Environment.new(wheels.WORK / "checkers", Path(sys.executable))
        checkers.pip(*CHECKERS)
        print(checkers.run("twine", "check", "--strict", *made).strip())
        made.append(write_bill(checkers, made[-1], options.python[-1], version))
    except FailedError as error:
        print(error, file=sys.stderr)
        return 1
    print("\nto upload:")
    for path in made:
        print(f"  {hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(wheels.REPOSITORY)}")
    return 0


def read_version() -> str:
    with (wheels.REPOSITORY / "pyproject.toml").open("rb") as file:
        version: str = tomllib.load(file)["project"]["version"]
    return version


def need_changes(version: str, changes: str) -> None:
    """Raise FailedError unless the changelog describes the version."""
    if f"\n## {version}" not in changes:
        raise FailedError(f"CHANGELOG.md has no section for {version}")


def write_bill(checkers: Environment, wheel: Path, python: Path, version: str) -> Path:
    """Write the software bill of materials of an environment that holds the wheel and its dependencies alone."""
    installed = Environment.new(wheels.WORK / "installed", python)
    installed.pip(wheel)
    bill = wheels.DIST / f"nnapi-{version}.cdx.json"
    interpreter = installed.folder / "bin" / "python"
    checkers.run("cyclonedx-py", "environment", "--output-file", bill, interpreter)
    return bill


if __name__ == "__main__":
    sys.exit(main())
