"""Prove nnapi on aarch64 from an x86 machine with Debian, without root: an arm64 Python under qemu.

    python -m tools.aarch64 [--folder FOLDER] [--device NAME …] [--filter NAME]

Fetches Debian's arm64 Python, its compiler for arm64 and qemu (about 130 MB) and the aarch64 wheels of what nnapi needs
(about 90 MB) into the folder, builds nnapi's own wheel there, and runs the demo, the programs in C, a start from the
cache, the conformance examples, and a sample of them from this machine through nnapi-agent. Prints how many
examples passed, were refused and failed on each device; exit code 1 if anything is wrong. The examples take half an
hour and more on two idle cores (--filter runs fewer), the sample and all else about five minutes each.
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
from nnapi.testing.conformance import Status, run
from nnapi.testing.corpus import PUBLISHED, Corpus, Entry
from tests.drivers.foreign.agent_cases import is_listening
from tests.waiting import comes_true
from tools.debian import Packages, codename

REPOSITORY = Path(__file__).resolve().parent.parent
DEVICES = ("nnapi-reference", "xnnpack-cpu")
QEMU_SUITES = {"bookworm": "bookworm-backports"}
"""Where a release has a qemu that runs LiteRT: 7.2 crashes in its kernels, 10 does not."""

AGENT_SAMPLE, AGENT_VARIANTS = 40, ("plain", "dynamic", "burst")
"""One example of so many goes through the agent, in these variants."""

GLIBC = range(17, 37)
"""Minor versions of glibc whose wheels run on bookworm, and on what came after it."""

STARTED = """
import sys, numpy, nnapi
model = nnapi.load(sys.argv[1])
compilation = nnapi.compile(model, "xnnpack-cpu", cache=sys.argv[2])
types = [model.operands[index].type for index in model.inputs]
outputs = compilation.run(*(numpy.ones(type.dimensions, type.dtype) for type in types))
print("nnapi.drivers.litert.lowering" in sys.modules, *(output.tobytes().hex() for output in outputs))
"""
"""A program that says whether it had to lower the model, and what it computes."""


class Emulated:
    """An arm64 Debian in a folder, with an environment that nnapi is installed in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root, self.host = folder / "root", folder / "host"
        self.qemu = [str(self.host / "usr/bin/qemu-aarch64"), "-L", str(self.root)]

    @property
    def version(self) -> str:
        """The minor version of its Python, as 3.11."""
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
        """Run an arm64 program to its end."""
        command = [*self.qemu, *map(str, words)]
        return subprocess.run(command, cwd=where, env=os.environ | variables, capture_output=True, text=True)

    def python(self, *words: str | Path, where: Path | None = None, **variables: str) -> str:
        """Return the output of a Python program; if it fails, print its output and raise CalledProcessError."""
        done = self.run(self.interpreter, *words, where=where, **variables)
        if done.returncode:
            print(done.stdout + done.stderr, file=sys.stderr)
            done.check_returncode()
        return done.stdout


def fetch(there: Emulated) -> None:
    """The arm64 Python, the compiler and qemu; what is there already stays."""
    if (there.folder / ".fetched").exists():
        return
    release = codename()
    Packages(there.folder / "apt-arm64", "arm64", [release]).unpack(
        ["python3", "libpython3-dev", "libstdc++6"], there.root
    )
    suites = list(dict.fromkeys([release, QEMU_SUITES.get(release, release)]))
    here = Packages(there.folder / "apt-host", "amd64", suites, Path("/var/lib/dpkg/status"))
    here.unpack(["gcc-aarch64-linux-gnu"], there.host)
    here.unpack(["qemu-user"], there.host, suite=suites[-1])
    (there.folder / ".fetched").touch()


def install(there: Emulated) -> None:
    """An environment with nnapi, and what it needs, from wheels."""
    shutil.rmtree(there.environment, ignore_errors=True)
    there.packages.mkdir(parents=True)
    executables = there.environment / "bin"
    executables.mkdir()
    for name in ("python3", f"python{there.version}"):
        (executables / name).symlink_to(there.root / "usr/bin" / f"python{there.version}")
    (there.environment / "pyvenv.cfg").write_text(f"home = {there.root / 'usr/bin'}\n")
    with open(REPOSITORY / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)
    own = [each for each in importlib.metadata.requires("nnapi") or [] if "extra ==" not in each]
    platforms = [f"manylinux_2_{minor}_aarch64" for minor in GLIBC] + ["manylinux2014_aarch64"]
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-compile", "--target", str(there.packages)]
    where = ["--only-binary=:all:", "--implementation=cp", f"--python-version={there.version}"]
    needed = [*own, *project["build-system"]["requires"]]
    subprocess.run([*pip, *where, *(f"--platform={name}" for name in platforms), *needed], check=True)
    subprocess.run([sys.executable, "-m", "zipfile", "-e", build(there), there.packages], check=True)
    shutil.copytree(REPOSITORY / "conformance" / "nnapi_conformance", there.packages / "nnapi_conformance")


def build(there: Emulated) -> Path:
    """nnapi's wheel: setup.py runs in the emulated Python and starts the compiler, a program of this machine."""
    made = there.folder / "built"
    shutil.rmtree(made, ignore_errors=True)
    source = made / "source"
    source.mkdir(parents=True)
    for file in REPOSITORY.iterdir():
        if file.is_file():
            shutil.copy(file, source)
    for name in ("native", "src"):
        ignored = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
        shutil.copytree(REPOSITORY / name, source / name, ignore=ignored)
    compiler = str(compiler_for(there))
    variables = {"CC": compiler, "LDSHARED": f"{compiler} -shared"}
    there.python("setup.py", "-q", "bdist_wheel", "--dist-dir", made, where=source, **variables)
    (wheel,) = made.glob("*.whl")
    return wheel


def compiler_for(there: Emulated) -> Path:
    """A command that compiles for the emulated Debian, with that one's headers and libraries."""
    command = there.folder / "cc"
    installed = shutil.which("aarch64-linux-gnu-gcc")
    program = installed or there.host / "usr/bin/aarch64-linux-gnu-gcc"
    libraries = there.host / "usr/lib/x86_64-linux-gnu"
    command.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={libraries} exec {program} --sysroot={there.root} "$@"\n')
    command.chmod(0o755)
    return command


def demo(there: Emulated) -> bool:
    printed = there.python(REPOSITORY / "examples/digits/demo.py")
    print(printed.strip().splitlines()[-1])
    return True


def clients(there: Emulated) -> bool:
    """The programs in C, each linked to the installed library and run in an empty folder."""
    (library,) = there.packages.glob("nnapi/capi/*/libneuralnetworks.so")
    headers = there.packages / "nnapi/capi/include"
    options = [f"-I{headers}", f"-L{library.parent}", "-lneuralnetworks", "-lm", "-pthread"]
    sources = sorted((REPOSITORY / "tests/clients").glob("*.c"))
    failed = []
    for source in sources:
        folder = there.folder / "clients" / source.stem
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        program = folder / source.stem
        flags = ["-std=c11", "-D_GNU_SOURCE", "-O1", *options]
        subprocess.run([there.folder / "cc", source, "-o", program, *flags], check=True)
        words = [folder] if source.stem == "run" else []
        done = there.run("-E", f"LD_LIBRARY_PATH={library.parent}", program, *words, NNAPI_QUIET="1")
        if done.returncode:
            failed.append(source.stem)
            print(f"{source.name}: exit code {done.returncode}: {done.stderr.strip()}")
    print(f"programs in C: {len(sources) - len(failed)} passed, {len(failed)} failed")
    return not failed


def cached_start(there: Emulated) -> bool:
    """A second process lowers nothing, and computes the same."""
    cache = there.folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    good = True
    for name in ("digits_float", "digits_quant"):
        model = REPOSITORY / f"examples/digits/{name}.tflite"
        cold, warm = (there.python("-c", STARTED, model, cache).split() for _ in range(2))
        kept = (cold[0], warm[0]) == ("True", "False") and cold[1:] == warm[1:]
        print(f"start of {name} from the cache: {'passed' if kept else f'failed: {cold}, then {warm}'}")
        good = good and kept
    return good


def examples(there: Emulated, device: str, chosen: list[str]) -> bool:
    """Every conformance example as it is, on one device. What a device refuses is skipped, with its reason."""
    outcome, said = there.folder / f"{device}.json", there.folder / f"{device}.txt"
    outcome.unlink(missing_ok=True)
    words = ["-m", "nnapi", "check", *chosen, "--device", device, "--variants", "plain", "--output", str(outcome)]
    print(f"{device}: {said} tells how far the examples are", flush=True)
    with open(said, "w") as file:  # not kept until the end: it takes long, and gets a line each minute
        code = subprocess.run([*there.qemu, there.interpreter, *words], stdout=file, stderr=file).returncode
    if not outcome.exists():
        print(f"{device}: exit code {code}: {said.read_text().strip()}")
        return False
    read = json.loads(outcome.read_text())
    counts = read["variants"]["plain"]
    print(f"{device}: {counts['passed']} passed, {counts['skipped']} refused, {counts['failed']} failed", flush=True)
    for failure in read["failures"]:
        print(f"  {failure['name']}: {failure['reason']}")
    return not counts["failed"] and counts["passed"] > 0


def agent(there: Emulated) -> bool:
    """A sample of the examples from here: the emulated agent calls the library there, which runs them on the device."""
    (library,) = there.packages.glob("nnapi/capi/*/libneuralnetworks.so")
    program, path = there.packages / "nnapi/drivers/foreign/nnapi-agent", there.folder / "agent"
    program.chmod(0o755)
    path.unlink(missing_ok=True)
    command = [*there.qemu, *map(str, (program, "--library", library, "--unix", path))]
    environment = os.environ | {"NNAPI_PYTHON": str(there.interpreter), "PYTHONPATH": "", "NNAPI_QUIET": "1"}
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
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "build" / "aarch64", help="for all that is made")
    parser.add_argument("--device", action="append", choices=DEVICES, help="run the examples on this device only")
    parser.add_argument("--filter", help="run these examples only, as `nnapi check --filter` takes them")
    options = parser.parse_args()
    if platform.machine() != "x86_64":
        parser.error(f"this machine is {platform.machine()}; on an aarch64 machine `make test` is the proof")
    try:
        codename()
    except ValueError as error:
        parser.error(str(error))
    os.nice(5)
    there = Emulated(options.folder.resolve())
    there.folder.mkdir(parents=True, exist_ok=True)
    fetch(there)
    install(there)
    print(f"Python {there.version} on {there.python('-c', 'import platform; print(platform.machine())').strip()}")
    chosen = ["--filter", options.filter] if options.filter else []
    good = [proof(there) for proof in (demo, clients, cached_start, agent)]
    with ThreadPoolExecutor() as pool:
        good += pool.map(lambda device: examples(there, device, chosen), options.device or DEVICES)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
