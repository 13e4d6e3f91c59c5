"""Build and check all files of a release in dist/, and print those to upload. Nothing is uploaded.

    python -m tools.release [PYTHON …] [--system FOLDER …]

The program builds and checks the source distribution and a wheel for each Python (tools/wheels.py). It runs
`twine check --strict` on them, and writes a software bill of materials (CycloneDX) of the packages that
`pip install nnapi` installs. If anything fails, it prints the reason and exits with 1.
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
    """Write the software bill of materials of an environment with only the wheel and its dependencies."""
    installed = Environment.new(wheels.WORK / "installed", python)
    installed.pip(wheel)
    bill = wheels.DIST / f"nnapi-{version}.cdx.json"
    interpreter = installed.folder / "bin" / "python"
    checkers.run("cyclonedx-py", "environment", "--output-file", bill, interpreter)
    return bill


if __name__ == "__main__":
    sys.exit(main())
