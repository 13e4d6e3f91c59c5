"""Build the source distribution and a wheel for each Python into dist/, and check them on this machine.

    python -m tools.wheels [PYTHON …] [--system FOLDER …]

Each version of Python needs its own wheel: the bridge starts interpreters with PyConfig, whose layout depends on the
version and is not part of the stable ABI. If a wheel needs too new a glibc, or fails in an environment like a user's
(tools/proofs.py), the program prints the reason and exits with 1.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tools import proofs, release_lock
from tools.environment import Environment, FailedError
from tools.systems import System

REPOSITORY = Path(__file__).resolve().parent.parent
DIST = REPOSITORY / "dist"
WORK = REPOSITORY / "build" / "wheels"
LIBRARIES = {"_bridge", "_copies", "_signals", "libneuralnetworks", "libnnapi_delegate"}
"""The shared objects that a wheel contains."""
NEWEST_GLIBC = (2, 28)
"""The glibc that wheels of NumPy and LiteRT need; nnapi's wheels must not need a newer one."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_arguments(parser)
    options = parser.parse_args()
    try:
        build_and_prove(options.python, options.system)
    except FailedError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("python", nargs="*", type=Path, default=[Path(sys.executable)])
    parser.add_argument(
        "--system",
        action="append",
        type=Path,
        default=[],
        help="also build and check in the system in this folder (tools/systems.py)",
    )


def build_and_prove(pythons: Sequence[Path], systems: Sequence[Path] = ()) -> list[Path]:
    """Return the source distribution and a wheel for each Python, all checked; raise FailedError if a check fails.

    The wheels of other systems come first, and the last one is for a Python of this machine.
    """
    tools = Environment.new(WORK / "tools", Path(sys.executable))
    tools.pip(*release_lock.EVERY)
    sdist = build_sdist(tools)
    examples = build_examples(tools)
    wheels = {python: build_wheel(tools, sdist, python) for python in pythons}
    proofs.prove(sdist, wheels, examples[0])
    elsewhere = [build_elsewhere(tools, sdist, examples[0], System(folder.resolve())) for folder in systems]
    return [*examples, sdist, *elsewhere, *wheels.values()]


def build_sdist(tools: Environment) -> Path:
    """Build the source distribution, and check that it has no compiled files."""
    shutil.rmtree(DIST, ignore_errors=True)
    tools.run("python", "-m", "build", "--sdist", "--no-isolation", "--outdir", DIST, where=REPOSITORY)
    (sdist,) = DIST.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        if compiled := [name for name in archive.getnames() if name.endswith((".so", ".o"))]:
            raise FailedError(f"{sdist.name} contains {', '.join(compiled)}")
    print(f"{sdist.relative_to(REPOSITORY)}", flush=True)
    return sdist


def build_examples(tools: Environment) -> list[Path]:
    """Build nnapi-conformance, and return its wheel, for every Python, and its source distribution."""
    tools.run("python", "-m", "build", "--no-isolation", "--outdir", DIST, where=REPOSITORY / "conformance")
    made = [*DIST.glob("nnapi_conformance-*.whl"), *DIST.glob("nnapi_conformance-*.tar.gz")]
    print(*(path.relative_to(REPOSITORY) for path in made), sep="\n", flush=True)
    return made


def build_wheel(tools: Environment, sdist: Path, python: Path) -> Path:
    """Build the wheel for one Python from the source distribution; its name has the oldest glibc that it runs with."""
    raw = WORK / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    builder = Environment.new(WORK / "builder", python)
    has_cffi = builder.run("python", "-c", release_lock.HAS_CFFI).strip() == "True"
    lock = release_lock.write_build_lock(WORK / "build-lock.txt", has_cffi)
    builder.pip("--require-hashes", "--requirement", lock)
    words = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", raw, sdist)
    builder.run("python", "-m", "pip", "wheel", *words, path="/usr/bin:/bin")
    (built,) = raw.glob("*.whl")
    return name_wheel(tools, built)


def build_elsewhere(tools: Environment, sdist: Path, examples: Path, system: System) -> Path:
    """Build and check the wheel for the newest Python of another system, in that system."""
    with system.workspace() as workspace:
        wheel = name_wheel(tools, system.build(workspace, sdist))
        print(system.prove(workspace, wheel, examples), end="", flush=True)
    print(f"  checked in {system.folder.name}: {wheel.name}", flush=True)
    return wheel


def name_wheel(tools: Environment, built: Path) -> Path:
    """Copy a wheel into dist/; its new name has the oldest C library that it runs with."""
    if set(found := libraries(built)) != LIBRARIES:
        raise FailedError(
            f"{built.name} contains {', '.join(found) or 'no library'}, not {', '.join(sorted(LIBRARIES))}"
        )
    shutil.rmtree(WORK / "named", ignore_errors=True)
    # The agent for Android needs two libraries of Android, which Linux does not have.
    of_android = ("--exclude", "libc.so", "--exclude", "libdl.so")
    tools.run("auditwheel", "repair", *of_android, "--wheel-dir", WORK / "named", built)
    (named,) = (WORK / "named").glob("*.whl")
    if "-musllinux_" not in named.name and glibc(named.name) > NEWEST_GLIBC:
        raise FailedError(f"{named.name} needs a newer glibc than {NEWEST_GLIBC[0]}.{NEWEST_GLIBC[1]}")
    wheel = Path(shutil.copy(named, DIST))
    print(f"{wheel.relative_to(REPOSITORY)}, {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
    return wheel


def libraries(wheel: Path) -> list[str]:
    """Return the names of the shared objects in a wheel, without folders and suffixes."""
    with zipfile.ZipFile(wheel) as archive:
        return [Path(name).name.partition(".")[0] for name in archive.namelist() if name.endswith(".so")]


def glibc(name: str) -> tuple[int, int]:
    """Return the oldest glibc that the tags of a wheel name."""
    versions = re.findall(r"manylinux_(\d+)_(\d+)_", name)
    if not versions:
        raise FailedError(f"{name} is for this machine only: auditwheel gave it no manylinux tag")
    return min((int(major), int(minor)) for major, minor in versions)


if __name__ == "__main__":
    sys.exit(main())
