"""Build and check all files of a release in dist/, and print those to upload. Nothing is uploaded.

    python -m tools.release [PYTHON …] [--system FOLDER …]

The program builds and checks the source distribution and a wheel for each Python (tools/wheels.py). It runs
`twine check --strict` on them. It writes a software bill of materials (CycloneDX) of the packages that
pip installs with nnapi, and adds it to each wheel (PEP 770). If anything fails, it prints the reason and exits
with 1. release-lock.txt pins the packages that build and check the files.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import json
import sys
import tomllib
import zipfile
from pathlib import Path

from tools import release_lock, wheels
from tools.environment import Environment, FailedError

BILL = "sboms/nnapi.cdx.json"
"""The bill's name in the folder of a wheel's metadata."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    wheels.add_arguments(parser)
    options = parser.parse_args()
    try:
        version = read_version()
        need_changes(version, (wheels.REPOSITORY / "CHANGELOG.md").read_text())
        made = wheels.build_and_prove(options.python, options.system)
        checkers = Environment.new(wheels.WORK / "checkers", Path(sys.executable))
        checkers.pip(*release_lock.EVERY)
        bill = write_bill(checkers, made[-1], options.python[-1], version)
        for wheel in made:
            if wheel.match("nnapi-*.whl"):
                add_bill(wheel, bill.read_bytes())
        need_bill(made[-1], options.python[-1])
        print(checkers.run("twine", "check", "--strict", *made).strip())
        made.append(bill)
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
    installed.run("python", "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools", "pip")
    bill = wheels.DIST / f"nnapi-{version}.cdx.json"
    interpreter = installed.folder / "bin" / "python"
    checkers.run("cyclonedx-py", "environment", "--output-file", bill, interpreter)
    bill.write_text(without_local_files(bill.read_text()))
    return bill


def without_local_files(bill: str) -> str:
    """Remove the wheel's path on this machine, and its digest: the bill becomes a part of the wheel."""
    described = json.loads(bill)
    for component in described["components"]:
        references = component.get("externalReferences", [])
        component["externalReferences"] = [each for each in references if not each["url"].startswith("file:")]
    return json.dumps(described, indent=2) + "\n"


def add_bill(wheel: Path, bill: bytes) -> None:
    """Add a bill of materials to a wheel, and to its list of files."""
    with zipfile.ZipFile(wheel) as archive:
        files = {entry: archive.read(entry) for entry in archive.infolist()}
    record = next(entry for entry in files if entry.filename.endswith(".dist-info/RECORD"))
    name = record.filename.removesuffix("RECORD") + BILL
    digest = base64.urlsafe_b64encode(hashlib.sha256(bill).digest()).rstrip(b"=").decode()
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow((name, f"sha256={digest}", len(bill)))
    files[record] = text.getvalue().encode() + files[record]
    added = zipfile.ZipInfo(name, record.date_time)
    added.compress_type, added.external_attr = zipfile.ZIP_DEFLATED, record.external_attr
    changed = wheel.with_suffix(".new")
    with zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in [(added, bill), *files.items()]:
            archive.writestr(entry, content)
    changed.replace(wheel)


def need_bill(wheel: Path, python: Path) -> None:
    """Raise FailedError unless the wheel can be installed, with its bill."""
    installed = Environment.new(wheels.WORK / "installed", python)
    installed.pip("--no-deps", wheel)
    files = installed.run("python", "-m", "pip", "show", "--files", "nnapi")
    if BILL not in files:
        raise FailedError(f"{wheel.name} is installed without {BILL}")


if __name__ == "__main__":
    sys.exit(main())
