"""Check ("prove") a built distribution in an environment outside the repository.

    python -m tools.proofs WHEEL EXAMPLES

The program checks one wheel with the Python that runs it. EXAMPLES is the wheel of nnapi-conformance. It needs only
that Python, a C compiler and pkg-config, so tools/systems.py can run it in other systems.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tools.environment import Environment, FailedError, output

REPOSITORY = Path(__file__).resolve().parent.parent
CLIENT = REPOSITORY / "tests" / "clients" / "devices.c"
DEMO = REPOSITORY / "examples" / "digits"
SYSTEM = "/usr/local/bin:/usr/bin:/bin"
"""PATH of a machine with a compiler."""

SOME = "CONV_2D"
"""The examples for each wheel except the first, which runs all of them."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("examples", type=Path, help="the wheel of nnapi-conformance")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nnapi-wheels-") as name:
        environment = Environment.new(Path(name, "first"), Path(sys.executable))
        try:
            library = " ".join(platform.libc_ver()) or "no glibc"
            print(f"  Python {platform.python_version()}, {platform.machine()}, {library}")
            prove_wheel(environment, options.wheel, options.examples, SOME)
            prove_moved(environment.moved(Path(name, "second")))
        except FailedError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


def prove(sdist: Path, wheels: Mapping[Path, Path], examples: Path) -> None:
    """Install and use each wheel; install the source distribution without a compiler, and as editable."""
    with tempfile.TemporaryDirectory(prefix="nnapi-wheels-") as name:
        folder = Path(name)
        environments = []
        for number, (python, wheel) in enumerate(wheels.items()):
            environment = Environment.new(folder / f"first_{number}", python)
            prove_wheel(environment, wheel, examples, "*" if number == 0 else SOME)
            environments.append(environment.moved(folder / f"second_{number}"))
            prove_moved(environments[-1])
            print(f"  checked: {wheel.name}", flush=True)
        prove_without_compiler(environments[0], sdist)
        print(f"  checked without a compiler: {sdist.name}", flush=True)
        prove_editable(environments, sdist, folder / "checkout")
        print(f"  checked as editable in {len(environments)} Pythons: {sdist.name}", flush=True)


def prove_wheel(environment: Environment, wheel: Path, examples: Path, chosen: str) -> None:
    """Run the demo, the conformance examples, and a program in C that is linked with options from `nnapi lib` and from
    pkg-config. Before the examples are installed, `nnapi check` must fail and name their package."""
    environment.pip(wheel)
    demo(environment)
    fails(environment, ["check"], "pip install ./conformance")
    environment.pip(examples)
    print(check(environment, chosen), flush=True)
    for options in (environment.run("nnapi", "lib", "--cflags", "--libs").split(), by_pkg_config(environment)):
        client = compiled(environment.folder / "client", *options)
        devices_seen(output([client]))


def prove_moved(environment: Environment) -> None:
    """Run the program in C after the environment was moved: the library must find Python by its own path.

    The program contains the old path of the library, so LD_LIBRARY_PATH names the new one.
    """
    (library,) = environment.folder.glob("lib/python3*/site-packages/nnapi/capi/*/libneuralnetworks.so")
    devices_seen(output([environment.folder / "client"], LD_LIBRARY_PATH=str(library.parent)))


def prove_without_compiler(environment: Environment, sdist: Path) -> None:
    """Install without a compiler: the demo must run, and `nnapi lib` must say that there was no compiler."""
    environment.pip("--force-reinstall", "--no-deps", "--no-cache-dir", sdist)
    demo(environment)
    fails(environment, ["lib"], "pip found no C compiler")


def fails(environment: Environment, words: list[str], message: str) -> None:
    """Raise FailedError unless the command fails with the message."""
    try:
        environment.run("python", "-m", "nnapi", *words)
    except FailedError as error:
        if message not in str(error):
            raise
    else:
        raise FailedError(f"`nnapi {' '.join(words)}` succeeds, but should print {message!r}")


def prove_editable(environments: list[Environment], sdist: Path, checkout: Path) -> None:
    """Install a checkout as editable for several Pythons: each must have a library of its own that works after all
    installations."""
    with tarfile.open(sdist) as archive:
        archive.extractall(checkout, filter="data")
    (source,) = checkout.iterdir()
    for environment in environments:
        environment.pip("--no-deps", "--editable", source, path=f"{environment.folder / 'bin'}:{SYSTEM}")
    libraries = [environment.run("python", "-m", "nnapi", "lib").strip() for environment in environments]
    if len(set(libraries)) != len(environments):
        raise FailedError(f"Pythons share a library: {', '.join(libraries)}")
    for environment, library in zip(environments, libraries, strict=True):
        devices_seen(output([environment.folder / "client"], LD_LIBRARY_PATH=str(Path(library).parent)))


def demo(environment: Environment) -> None:
    """Run a copy of the demo outside the repository."""
    copy = Path(shutil.copytree(DEMO, environment.folder / "digits", dirs_exist_ok=True))
    environment.run("python", "demo.py", where=copy)


def check(environment: Environment, examples: str) -> str:
    """Return the output of `nnapi check` on the reference, with the installed examples."""
    outcome = environment.folder / "outcome.json"
    options = ["--device", "nnapi-reference", "--variants", "plain", "--filter", examples]
    environment.run("nnapi", "check", *options, "--output", outcome)
    counts = json.loads(outcome.read_text())["variants"]["plain"]
    return f"  {counts['passed']} examples passed, {counts['skipped']} skipped, {counts['failed']} failed"


def by_pkg_config(environment: Environment) -> list[str]:
    """Return the options for the compiler from a pkg-config file."""
    folder = environment.folder / "lib" / "pkgconfig"
    folder.mkdir(exist_ok=True)
    (folder / "neuralnetworks.pc").write_text(environment.run("nnapi", "lib", "--pkg-config"))
    words = ["pkg-config", "--cflags", "--libs", "neuralnetworks"]
    return output(words, path=SYSTEM, PKG_CONFIG_PATH=str(folder)).split()


def compiled(program: Path, *options: str) -> Path:
    """Compile the program in C with a PATH that has a compiler; return its path."""
    output(["cc", "-std=c11", "-D_GNU_SOURCE", CLIENT, "-o", program, *options, "-lm"], path=SYSTEM)
    return program


def devices_seen(printed: str) -> None:
    if "nnapi-reference" not in printed:
        raise FailedError(f"the client printed {printed!r}, without nnapi-reference")


if __name__ == "__main__":
    sys.exit(main())
