"""Test nnapi on aarch64 on an x86 machine with Debian, without root: an arm64 Python under qemu.

    python -m tools.aarch64 [--folder FOLDER] [--device NAME …] [--filter NAME]

The program fetches Debian's arm64 Python, its compiler for arm64, qemu (about 130 MB) and the aarch64 wheels of nnapi's
dependencies (about 90 MB) into FOLDER, and builds nnapi's wheel there. Under qemu it then runs the demo, the programs
in C, a start from the cache, convolutions with fewer multiplications and the conformance examples. This machine runs a
sample of the examples through an emulated nnapi-agent. The program prints how many examples each device passed, refused
and failed. The exit code is 1 if anything failed. The examples take at least half an hour on two idle cores (--filter
runs fewer), the sample and everything else about five minutes each.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import tomllib
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nnapi import Device
from nnapi.drivers.foreign.driver import list_devices
from nnapi.testing.conformance import run
from nnapi.testing.corpus import PUBLISHED, Corpus, Entry
from nnapi.testing.suite.result import Status
from tests.drivers.foreign.agent_cases import is_listening
from tests.waiting import comes_true
from tools.debian import Packages, codename

REPOSITORY = Path(__file__).resolve().parent.parent
DEVICES = ("nnapi-reference", "xnnpack-cpu")
QEMU_SUITES = {"bookworm": "bookworm-backports"}
"""The suites that have a working qemu, by release: qemu 7.2 crashes in LiteRT's kernels, qemu 10 does not."""

AGENT_SAMPLE, AGENT_VARIANTS = 40, ("plain", "dynamic", "burst")
"""One example of 40 runs through the agent, in these variants."""

GLIBC = range(17, 37)
"""Minor versions of glibc whose wheels run on bookworm and later releases."""

WINOGRAD_TESTS = (
    "tests/contract/test_winograd.py",
    "tests/drivers/test_winograd_variants.py",
    "tests/lowering/winograd",
)

START = """
import sys, numpy, nnapi
model = nnapi.load(sys.argv[1])
compilation = nnapi.compile(model, "xnnpack-cpu", cache=sys.argv[2])
types = [model.operands[index].type for index in model.inputs]
outputs = compilation.run(*(numpy.ones(type.dimensions, type.dtype) for type in types))
print("nnapi.drivers.litert.lowering" in sys.modules, *(output.tobytes().hex() for output in outputs))
"""
"""A program that prints whether it had to lower the model, and its outputs."""


class Emulated:
    """An arm64 Debian in a folder, with an environment for nnapi."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root, self.host = folder / "root", folder / "host"
        self.qemu = [str(self.host / "usr/bin/qemu-aarch64"), "-L", str(self.root)]

    @property
    def version(self) -> str:
        """The version of its Python, such as 3.11."""
        (python,) = self.root.glob("usr/bin/python3.[0-9]*[0-9]")
        return python.name.removeprefix("python")

    @property
    def environment(self) -> Path:
        return self.folder / "environment"

    @property
    def interpreter(self) -> Path:
        return self.environment / "bin" / "python3"

    @property
    def packages(self) -> Path:
        return self.environment / "lib" / f"python{self.version}" / "site-packages"

    def run(self, *words: str | Path, where: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run an arm64 program and wait for its end."""
        command = [*self.qemu, *map(str, words)]
        return subprocess.run(command, cwd=where, env=os.environ | variables, capture_output=True, text=True)

    def python(self, *words: str | Path, where: Path | None = None, **variables: str) -> str:
        """Return the output of a Python program; if it fails, print its output and raise CalledProcessError."""
        done = self.run(self.interpreter, *words, where=where, **variables)
        if done.returncode:
            print(done.stdout + done.stderr, file=sys.stderr)
            done.check_returncode()
        return done.stdout


def fetch(emulated: Emulated) -> None:
    """Fetch the arm64 Python, the compiler and qemu, unless an earlier run has fetched them."""
    if (emulated.folder / ".fetched").exists():
        return
    release = codename()
    Packages(emulated.folder / "apt-arm64", "arm64", [release]).unpack(
        ["python3", "libpython3-dev", "libstdc++6"], emulated.root
    )
    suites = list(dict.fromkeys([release, QEMU_SUITES.get(release, release)]))
    here = Packages(emulated.folder / "apt-host", "amd64", suites, Path("/var/lib/dpkg/status"))
    here.unpack(["gcc-aarch64-linux-gnu"], emulated.host)
    here.unpack(["qemu-user"], emulated.host, suite=suites[-1])
    (emulated.folder / ".fetched").touch()


def install(emulated: Emulated) -> None:
    """Make an environment with nnapi and its dependencies from wheels."""
    shutil.rmtree(emulated.environment, ignore_errors=True)
    emulated.packages.mkdir(parents=True)
    executables = emulated.environment / "bin"
    executables.mkdir()
    for name in ("python3", f"python{emulated.version}"):
        (executables / name).symlink_to(emulated.root / "usr/bin" / f"python{emulated.version}")
    (emulated.environment / "pyvenv.cfg").write_text(f"home = {emulated.root / 'usr/bin'}\n")
    with open(REPOSITORY / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)
    own = [each for each in importlib.metadata.requires("nnapi") or [] if "extra ==" not in each]
    platforms = [f"manylinux_2_{minor}_aarch64" for minor in GLIBC] + ["manylinux2014_aarch64"]
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-compile", "--target", str(emulated.packages)]
    where = ["--only-binary=:all:", "--implementation=cp", f"--python-version={emulated.version}"]
    tests = [each for each in project["project"]["optional-dependencies"]["dev"] if each.startswith(("pytest>", "hyp"))]
    needed = [*own, *project["build-system"]["requires"], *tests, "cffi>=1.17"]
    subprocess.run([*pip, *where, *(f"--platform={name}" for name in platforms), *needed], check=True)
    subprocess.run([sys.executable, "-m", "zipfile", "-e", build(emulated), emulated.packages], check=True)
    shutil.copytree(REPOSITORY / "conformance" / "nnapi_conformance", emulated.packages / "nnapi_conformance")


def build(emulated: Emulated) -> Path:
    """Build nnapi's wheel: setup.py runs in the emulated Python, and starts the compiler, a program of this machine."""
    made = emulated.folder / "built"
    shutil.rmtree(made, ignore_errors=True)
    source = made / "source"
    source.mkdir(parents=True)
    for file in REPOSITORY.iterdir():
        if file.is_file():
            shutil.copy(file, source)
    for name in ("native", "src"):
        ignored = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
        shutil.copytree(REPOSITORY / name, source / name, ignore=ignored)
    compiler = str(compiler_for(emulated))
    variables = {"CC": compiler, "LDSHARED": f"{compiler} -shared"}
    emulated.python("setup.py", "-q", "bdist_wheel", "--dist-dir", made, where=source, **variables)
    (wheel,) = made.glob("*.whl")
    return wheel


def compiler_for(emulated: Emulated) -> Path:
    """Write a command that compiles for the emulated Debian, with its headers and libraries; return its path."""
    command = emulated.folder / "cc"
    installed = shutil.which("aarch64-linux-gnu-gcc")
    program = installed or emulated.host / "usr/bin/aarch64-linux-gnu-gcc"
    libraries = emulated.host / "usr/lib/x86_64-linux-gnu"
    command.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={libraries} exec {program} --sysroot={emulated.root} "$@"\n')
    command.chmod(0o755)
    return command


def demo(emulated: Emulated) -> bool:
    printed = emulated.python(REPOSITORY / "examples/digits/demo.py")
    print(printed.strip().splitlines()[-1])
    return True


def clients(emulated: Emulated) -> bool:
    """Link each program in C to the installed library, and run it in an empty folder."""
    (library,) = emulated.packages.glob("nnapi/capi/*/libneuralnetworks.so")
    headers = emulated.packages / "nnapi/capi/include"
    options = [f"-I{headers}", f"-L{library.parent}", "-lneuralnetworks", "-lm", "-pthread"]
    sources = sorted((REPOSITORY / "tests/clients").glob("*.c"))
    failed = []
    for source in sources:
        folder = emulated.folder / "clients" / source.stem
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        program = folder / source.stem
        flags = ["-std=c11", "-D_GNU_SOURCE", "-O1", *options]
        subprocess.run([emulated.folder / "cc", source, "-o", program, *flags], check=True)
        words = [folder] if source.stem == "run" else []
        done = emulated.run("-E", f"LD_LIBRARY_PATH={library.parent}", program, *words, NNAPI_QUIET="1")
        if done.returncode:
            failed.append(source.stem)
            print(f"{source.name}: exit code {done.returncode}: {done.stderr.strip()}")
    print(f"programs in C: {len(sources) - len(failed)} passed, {len(failed)} failed")
    return not failed


def cached_start(emulated: Emulated) -> bool:
    """Check that a second process uses the cache instead of lowering, and computes the same outputs."""
    cache = emulated.folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    good = True
    for name in ("digits_float", "digits_quant"):
        model = REPOSITORY / f"examples/digits/{name}.tflite"
        cold, warm = (emulated.python("-c", START, model, cache).split() for _ in range(2))
        is_right = (cold[0], warm[0]) == ("True", "False") and cold[1:] == warm[1:]
        print(f"start of {name} from the cache: {'passed' if is_right else f'failed: {cold}, then {warm}'}")
        good = good and is_right
    return good


def convolutions(emulated: Emulated) -> bool:
    """Measure the errors of all tiles of convolutions on small images, and run the tests of these convolutions."""
    words = ["-m", "benchmarks.convolution_errors", *DEVICES, "--most", "6"]
    layers = emulated.run(emulated.interpreter, *words, where=REPOSITORY)
    tests = emulated.run(
        emulated.interpreter, "-m", "pytest", "-q", "-p", "no:cacheprovider", *WINOGRAD_TESTS, where=REPOSITORY
    )
    print(layers.stdout.rpartition("\n\n")[2], layers.stderr, tests.stdout, sep="", end="")
    return not layers.returncode and not tests.returncode


def examples(emulated: Emulated, device: str, chosen: list[str]) -> bool:
    """Run the conformance examples on one device, in the variant "plain"; examples that it refuses are skipped."""
    outcome, log = emulated.folder / f"{device}.json", emulated.folder / f"{device}.txt"
    outcome.unlink(missing_ok=True)
    words = ["-m", "nnapi", "check", *chosen, "--device", device, "--variants", "plain", "--output", str(outcome)]
    print(f"{device}: {log} shows the progress", flush=True)
    with open(log, "w") as file:  # a file, because the run takes long and prints a line each minute
        code = subprocess.run([*emulated.qemu, emulated.interpreter, *words], stdout=file, stderr=file).returncode
    if not outcome.exists():
        print(f"{device}: exit code {code}: {log.read_text().strip()}")
        return False
    read = json.loads(outcome.read_text())
    counts = read["variants"]["plain"]
    print(f"{device}: {counts['passed']} passed, {counts['skipped']} refused, {counts['failed']} failed", flush=True)
    for failure in read["failures"]:
        print(f"  {failure['name']}: {failure['reason']}")
    return not counts["failed"] and counts["passed"] > 0


def agent(emulated: Emulated) -> bool:
    """Run a sample of the examples from this machine: the emulated agent passes them to the emulated library."""
    (library,) = emulated.packages.glob("nnapi/capi/*/libneuralnetworks.so")
    program, path = emulated.packages / "nnapi/drivers/foreign/nnapi-agent", emulated.folder / "agent"
    program.chmod(0o755)
    path.unlink(missing_ok=True)
    command = [*emulated.qemu, *map(str, (program, "--library", library, "--unix", path))]
    environment = os.environ | {"NNAPI_PYTHON": str(emulated.interpreter), "PYTHONPATH": "", "NNAPI_QUIET": "1"}
    counts = Counter[Status]()
    with subprocess.Popen(command, env=environment) as process:
        try:
            assert comes_true(lambda: is_listening(path))
            for driver in list_devices("emulated", f"unix:{path}", patience=600):
                with Device(driver) as device:
                    for result in run(Corpus(PUBLISHED), [device], AGENT_VARIANTS, _is_in_sample):
                        counts[result.status] += 1
                        if result.status is Status.FAILED:
                            print(f"  {result.example} on {device}: {result.reason}")
        finally:
            process.terminate()
    print(f"through the agent: {', '.join(f'{count} {status.name.lower()}' for status, count in counts.items())}")
    return counts[Status.PASSED] > 0 and not counts[Status.FAILED]


def _is_in_sample(entry: Entry) -> bool:
    return not zlib.crc32(entry.name.encode()) % AGENT_SAMPLE


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--folder",
        type=Path,
        default=REPOSITORY / "build" / "aarch64",
        help="folder for everything that the program makes",
    )
    parser.add_argument("--device", action="append", choices=DEVICES, help="run the examples on this device only")
    parser.add_argument("--filter", help="run only these examples, as in `nnapi check --filter`")
    options = parser.parse_args()
    if platform.machine() != "x86_64":
        parser.error(f"this machine is {platform.machine()}; on an aarch64 machine, run `make test`")
    try:
        codename()
    except ValueError as error:
        parser.error(str(error))
    os.nice(5)
    emulated = Emulated(options.folder.resolve())
    emulated.folder.mkdir(parents=True, exist_ok=True)
    fetch(emulated)
    install(emulated)
    print(f"Python {emulated.version} on {emulated.python('-c', 'import platform; print(platform.machine())').strip()}")
    chosen = ["--filter", options.filter] if options.filter else []
    good = [proof(emulated) for proof in (demo, clients, cached_start, convolutions, agent)]
    with ThreadPoolExecutor() as pool:
        good += pool.map(lambda device: examples(emulated, device, chosen), options.device or DEVICES)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
