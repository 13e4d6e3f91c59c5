"""Change one token of the source at random, run tests, and report whether one fails: `make mutants`.

Cosmic Ray makes the changes (mutants), in copies of the tree. A mutant is noticed if a test fails, and survives
otherwise. The tests run in this order, the next ones only on mutants that survived:

1. with --coverage, a record of the same source (tools/line_coverage.py): tests that run the changed line
2. the tests of the module (tests/test_names.py finds them by name), and conformance examples of the operations that
   the module names
3. the other quick tests of its package and of the folders of its tests, some tests that import it, and the slow tests
   of the module

Each run is a process forked from one that has loaded the libraries. With --report, the program continues an earlier run
on the same source: it does not repeat mutants that were noticed.
"""

from __future__ import annotations

import argparse
import compileall
import json
import multiprocessing
import os
import py_compile
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import entry_points
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING

from tools.line_coverage import LineCoverage
from tools.mutant_sample import REPOSITORY, SOURCE, Mutant, sample

if TYPE_CHECKING:
    import pytest

FOLDERS = ("model", "ops", "runtime", "importers", "drivers")
DIVIDED = ("drivers", "importers")
"""Packages whose folders are independent of each other."""
LEFT_OUT = (".git", ".venv*", "build", "dist", "__pycache__", ".*_cache", ".hypothesis")
MOST_EXAMPLES = 300
"""The largest number of conformance examples for a mutant."""
FIRST_EXAMPLES = 20
"""If these examples do not load the changed module, the remaining ones are not run."""
MOST_FILES = 6
"""The largest number of test files of the module, and of test files elsewhere that import it."""
MOST_TESTS = 100
"""The largest number of tests that run the changed line."""
MOST_SECONDS = 600
"""Seconds of processor time after which tests count as hanging, so the mutant is noticed; twice as much wall time."""
IDLE_SECONDS = 60
"""Seconds of wall time: tests that use less than 1 % of them as processor time count as hanging."""

Work = Callable[[], int]
FORK = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a mutant: the reason why a run failed, empty if none did, and the changed line."""

    mutant: Mutant
    reason: str
    change: str


# Tests of a mutant


def tests_of_module(path: Path) -> list[str]:
    """Return the tests of a module, relative to the repository; those of its folder if none has its name."""
    from tests.test_names import find_tests

    found = [str(test.relative_to(REPOSITORY)) for test in find_tests(path.relative_to(SOURCE))]
    return found or [package_folder(path)]


def likeliest_tests(path: Path) -> list[str]:
    """Return the tests of a module that fail most likely: files with its name, then files that import it."""
    tests = tests_of_module(path)
    return sorted(tests, key=lambda test: not Path(test).stem.endswith(f"_{path.stem}"))[:MOST_FILES]


def package_folder(path: Path) -> str:
    """Return the folder with the tests of the module's package, or of the module's driver or importer."""
    package, *rest = path.relative_to(SOURCE).parent.parts
    folder = Path("tests", package, *(rest[:1] if package in DIVIDED else ()))
    return str(folder if (REPOSITORY / folder).is_dir() else folder.parent)


def folders_of_tests(path: Path) -> list[str]:
    """Return the folders with more tests: that of the module's package, and those that contain the module's tests."""
    own = [str(Path(test).parent) for test in tests_of_module(path) if test.endswith(".py")]
    return list(dict.fromkeys([package_folder(path), *own]))


def importing_tests(path: Path) -> list[str]:
    """Return a few tests of other packages that import the module."""
    from tests.test_names import import_of

    imported = import_of(path.relative_to(SOURCE))
    own = {test for folder in folders_of_tests(path) for test in (REPOSITORY / folder).rglob("test_*.py")}
    others = sorted({*(REPOSITORY / "tests").rglob("test_*.py")} - own)
    return [str(test.relative_to(REPOSITORY)) for test in others if imported.search(test.read_text())][:MOST_FILES]


def conformance(path: Path) -> int:
    """Run examples of the operations that a module names, or of all, on its driver's device or on the reference."""
    from nnapi.codes import OperationCode
    from nnapi.runtime.device import Device
    from nnapi.testing.conformance import run
    from nnapi.testing.corpus import open_published
    from nnapi.testing.suite.result import Status

    module = ".".join(path.relative_to("src").with_suffix("").parts)
    drivers = [point for point in entry_points(group="nnapi.drivers") if module.startswith(f"{point.module}.")]
    devices: list[Device | str] = ["nnapi-reference"]
    if drivers:
        found = drivers[0].load()()
        devices = [Device(found[0] if isinstance(found, list) else found)]
    mentioned = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", path.read_text())) & OperationCode.__members__.keys()
    corpus = open_published()
    entries = corpus.select(lambda entry: not mentioned or not mentioned.isdisjoint(entry.ops))
    chosen = random.Random(0).sample(entries, min(MOST_EXAMPLES, len(entries)))
    for some in (chosen[:FIRST_EXAMPLES], chosen[FIRST_EXAMPLES:]):
        results = run(corpus, devices, ["plain"], set(some).__contains__, strict=not drivers)
        failed = next((result for result in results if result.status == Status.FAILED), None)
        if failed:
            print(f"FAILED {failed.example}: {failed.reason}")
            return 1
        if module.removesuffix(".__init__") not in sys.modules:
            break  # the other examples cannot notice the change
    return 0


def run_tests(options: Sequence[str], marked: str = "not slow", plugins: Sequence[object] = ()) -> int:
    import pytest

    return int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "--tb=no", "-m", marked, *options], plugins))


def run_some(tests: Sequence[str]) -> int:
    """Run the tests with these names; skip those whose file does not exist."""
    files = sorted({test.partition("::")[0] for test in tests})
    return run_tests([file for file in files if Path(file).exists()], plugins=[Selection(frozenset(tests))])


@dataclass(frozen=True)
class Selection:
    """A plugin that keeps the tests of some names."""

    names: frozenset[str]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.names]


def of_module(mutant: Mutant) -> list[Work]:
    return [partial(run_tests, likeliest_tests(mutant.path)), partial(conformance, mutant.path)]


def of_package(mutant: Mutant) -> list[Work]:
    own = likeliest_tests(mutant.path)
    others = [*folders_of_tests(mutant.path), *importing_tests(mutant.path), *(f"--deselect={test}" for test in own)]
    return [partial(run_tests, others), partial(run_tests, own, "slow")]


def of_line(coverage: LineCoverage, mutant: Mutant) -> list[Work]:
    tests = spread(coverage.tests_of(mutant.path, mutant.line), MOST_TESTS)
    return [partial(run_some, tests)] if tests else []


def spread(tests: Sequence[str], most: int) -> list[str]:
    """Draw tests in rounds over their files, because tests of different files notice different changes."""
    drawn = Counter[str]()
    rounds = []
    for test in random.Random(0).sample(tests, len(tests)):
        file = test.partition("::")[0]
        rounds.append((drawn[file], test))
        drawn[file] += 1
    return [test for _, test in sorted(rounds)[:most]]


# Running tests


def work_in_copy(copy: Path, log: Path, work: Work) -> None:
    """Do the work in the copy, write its output to the log, and end the process."""
    os.setsid()  # so that its child processes can be killed with it
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.chdir(copy)
    sys.path.insert(0, str(copy / "src"))
    os.environ["PYTHONPATH"] = str(copy / "src")
    sys.exit(work())


def wait_for_end(process: ForkServerProcess) -> bool:
    """Wait for a process; return whether it ends before its time limit, and before its whole session is idle."""
    end, used = time.monotonic() + 2 * MOST_SECONDS, 0.0
    while process.exitcode is None and time.monotonic() < end:
        process.join(IDLE_SECONDS)
        before, used = used, processor_seconds(process.pid or 0)
        if process.exitcode is None and used - before < IDLE_SECONDS / 100:
            return False
    return process.exitcode is not None


def processor_seconds(session: int) -> float:
    """Return the processor seconds of the processes of a session, with their children that have ended."""
    ticks = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15])) if int(fields[3]) == session else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def find_failure(copy: Path, work: Work) -> str:
    """Return why the work failed in the copy; empty if it succeeded."""
    log = copy.with_suffix(".log")
    process = FORK.Process(target=work_in_copy, args=(copy, log, work))
    process.start()
    hangs = not wait_for_end(process)
    with suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)
    process.join()
    if hangs:
        return "no end"
    if process.exitcode in (0, 5):  # 5: no test was run, because all selected ones are slow
        return ""
    written = log.read_text(errors="replace")
    named = re.findall(r"^(?:FAILED|ERROR) .*", written, re.MULTILINE)
    return "".join(named[:1]) or f"{process.exitcode}: {written[-1000:]}"


def failing_test(reason: str) -> str:
    """Return the test that a reason names, if the test or its fixture failed; empty for other reasons."""
    found = re.match(r"(?:FAILED|ERROR) (\S+::.*?)(?: - |$)", reason)
    return found[1] if found else ""


def judge(copies: Queue[Path], works: Callable[[Mutant], Sequence[Work]], mutant: Mutant) -> Outcome:
    """Make the change in a free copy of the tree, and run the works there until one fails."""
    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.plugins import get_operator

    copy = copies.get()
    try:
        with use_mutation(copy / mutant.path, get_operator(mutant.operator)(), mutant.occurrence) as (before, after):
            reasons = (find_failure(copy, work) for work in works(mutant))
            reason = next(filter(None, reasons), "")
        if (test := failing_test(reason)) and failing_test(find_failure(copy, partial(run_tests, [test]))):
            reason = ""  # it fails without the change, too
        return Outcome(mutant, reason, find_changed_line(before, after))
    finally:
        copies.put(copy)


def find_changed_line(before: str, after: str) -> str:
    """Return the first line that differs, before and after the change."""
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    return next((f"{a.strip()}  →  {b.strip()}" for a, b in pairs if a != b), "the end of the file")


def make_copy(target: Path) -> Path:
    """Copy the tree and compile it with hashes, so that Python recompiles a file that changes twice in a second."""
    shutil.copytree(REPOSITORY, target, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(target / "src", quiet=1, invalidation_mode=mode)
    return target


def run_all(
    copies: Queue[Path], works: Callable[[Mutant], Sequence[Work]], mutants: Sequence[Mutant], report: Path | None
) -> list[Mutant]:
    """Print each outcome as soon as it is known; return the mutants that survive."""
    survived = []
    with ThreadPoolExecutor(copies.qsize()) as pool:
        for count, outcome in enumerate(pool.map(partial(judge, copies, works), mutants), 1):
            print(f"{count:4} {'noticed ' if outcome.reason else 'survived'}  {outcome.mutant}", flush=True)
            if not outcome.reason:
                survived.append(outcome.mutant)
                print(f"{'':15}{outcome.change}", flush=True)
            if report:
                with report.open("a") as file:
                    file.write(json.dumps(asdict(outcome), default=str) + "\n")
    return survived


def read_noticed(report: Path | None) -> set[Mutant]:
    """Return the mutants that an earlier run noticed; none without its report."""
    if report is None or not report.exists():
        return set()
    outcomes = [json.loads(line) for line in report.read_text().splitlines()]
    mutants = [outcome["mutant"] for outcome in outcomes if outcome["reason"]]
    return {Mutant(Path(each.pop("path")), **each) for each in mutants}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--number", type=int, default=200, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random choice")
    parser.add_argument("--jobs", type=int, default=1, help="number of copies of the tree, each with a process")
    help = "append a line of JSON for each mutant to this file, and skip mutants that it reports as noticed"
    parser.add_argument("--report", type=Path, help=help)
    parser.add_argument("--coverage", type=Path, help="a database of pytest-cov, with a context for each test")
    help = f"folders of {SOURCE}; default: {' '.join(FOLDERS)}"
    parser.add_argument("folders", nargs="*", default=FOLDERS, help=help)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    if (shared := REPOSITORY.parent / "shared").is_dir():
        os.environ.setdefault("NNAPI_SHARED", str(shared))  # beside the copies, there is no such folder
    FORK.set_forkserver_preload(["__main__", "numpy", "scipy.special", "pytest"])
    mutants = sample(given.folders, given.number, given.seed)
    with tempfile.TemporaryDirectory(prefix="nnapi-mutants-") as folder:
        copies: Queue[Path] = Queue()
        for number in range(given.jobs):
            copies.put(make_copy(Path(folder, f"copy{number}")))
        noticed_before = read_noticed(given.report)
        left = [mutant for mutant in mutants if mutant not in noticed_before]
        survived = left
        if given.coverage:
            survived = run_all(copies, partial(of_line, LineCoverage(given.coverage)), survived, given.report)
            print(f"\n{len(survived)} of {len(mutants)} survived tests of their lines; now the tests of their modules:")
        survived = run_all(copies, of_module, survived, given.report)
        print(
            f"\n{len(survived)} of {len(mutants)} survived the tests of their modules; now the tests of their folders:"
        )
        survived = run_all(copies, of_package, survived, given.report)
    noticed = len(mutants) - len(survived)
    print(f"\n{noticed} of {len(mutants)} noticed ({noticed / len(mutants):.1%}), seed {given.seed}")


if __name__ == "__main__":
    main()
