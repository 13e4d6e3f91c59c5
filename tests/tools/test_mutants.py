"""The mutants that `make mutants` draws, and the tests that it runs on them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from nnapi.testing.corpus import Corpus
from tools import mutant_sample, mutants

SOURCE = """
def half(number: int | None = 3) -> int | float:
    limit: dict[int, int | str] = {}
    return number / 2 * limit.reshape(-1)[-1]
pairs = zip(a, b, strict=True)
"""


def test_what_has_no_effect_is_left_alone() -> None:
    without_effect = mutant_sample.WithoutEffect(SOURCE)
    lines = SOURCE.splitlines()
    idle = [
        (row, lines[row - 1].index(text))
        for row, text in ((2, "| None"), (2, "| float"), (3, "| str"), (4, "1)"), (5, "True"))
    ]
    computed = [(row, lines[row - 1].index(text)) for row, text in ((2, "3"), (3, "{}"), (4, "/"), (4, "1]"))]
    assert all(place in without_effect for place in idle)
    assert not any(place in without_effect for place in computed)


def test_the_first_line_that_differs_is_shown() -> None:
    assert mutants.find_changed_line("a = 1\n  b = 2\n", "a = 1\n  b = 3\n") == "b = 2  →  b = 3"


def test_a_seed_gives_the_same_mutants_and_fewer_are_the_first_of_more() -> None:
    pytest.importorskip("cosmic_ray")
    four = mutant_sample.sample(["trace"], 4, 7)
    assert mutant_sample.sample(["trace"], 2, 7) == four[:2]
    assert len({(each.path, each.line, each.operator, each.occurrence) for each in four}) == 4


@pytest.mark.parametrize("mutant_file", ["src/nnapi/trace/marks.py", "src/nnapi/trace/__init__.py"])
def test_each_module_meets_tests(mutant_file: str) -> None:
    tests = [*mutants.tests_of_module(Path(mutant_file)), mutants.package_folder(Path(mutant_file))]
    assert all((mutant_sample.REPOSITORY / test).exists() for test in tests)


@pytest.mark.parametrize(
    ("reason", "test"),
    [
        ("FAILED tests/test_a.py::test_b[c d] - assert 2 == 3", "tests/test_a.py::test_b[c d]"),
        ("ERROR tests/test_a.py::test_b - the fixture fails", "tests/test_a.py::test_b"),
        ("ERROR tests/test_a.py", ""),
        ("ERROR: not found: tests/test_a.py::test_b", ""),
        ("FAILED relu: 1 of 8 values differ", ""),
        ("-11: tests/test_a.py::test_b", ""),
    ],
)
def test_only_a_test_that_fails_is_repeated_without_the_change(reason: str, test: str) -> None:
    assert mutants.failing_test(reason) == test


@pytest.mark.parametrize(
    ("mutant_file", "found"),
    [
        ("ops/softmax.py", ["tests/ops"]),
        ("model/facts.py", ["tests/model", "tests/ops"]),
        ("runtime/executors/prepared_partitions.py", ["tests/runtime", "tests/runtime/executors"]),
    ],
)
def test_survivors_meet_the_folders_of_their_tests(mutant_file: str, found: list[str]) -> None:
    assert mutants.folders_of_tests(Path("src/nnapi", mutant_file)) == found


@pytest.mark.slow
def test_survivors_meet_tests_of_other_packages_that_import_the_module() -> None:
    assert "tests/runtime/test_further_compilations.py" in mutants.importing_tests(Path("src/nnapi/model/graph.py"))
    assert mutants.importing_tests(Path("src/nnapi/runtime/choice/paired_times.py")) == []


def test_the_tests_of_a_module_s_name_are_first_and_few() -> None:
    found = mutants.likeliest_tests(Path("src/nnapi/contract/timings.py"))
    assert found == ["tests/contract/test_timings.py", "tests/contract/test_workload.py"]
    assert len(mutants.tests_of_module(Path("src/nnapi/runtime/device.py"))) > len(
        mutants.likeliest_tests(Path("src/nnapi/runtime/device.py"))
    )
    assert len(mutants.likeliest_tests(Path("src/nnapi/runtime/device.py"))) == mutants.MOST_FILES


@pytest.mark.parametrize(("module", "examples"), [("cluster.predictor", 20), ("testing.conformance", 300)])
def test_examples_end_where_they_do_not_need_the_module(
    module: str, examples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[object] = []

    def take(corpus: Corpus, devices: object, variants: object, choose: Callable[[object], bool], strict: bool) -> list:
        chosen.extend(filter(choose, corpus.select(lambda entry: True)))
        return []

    monkeypatch.setattr("nnapi.testing.conformance.run", take)
    monkeypatch.delitem(sys.modules, "nnapi.cluster.predictor", raising=False)
    assert mutants.conformance(Path("src/nnapi", *module.split(".")).with_suffix(".py")) == 0
    assert len(chosen) == examples


def test_a_report_names_the_mutants_that_were_noticed(tmp_path: Path) -> None:
    report, (one, other) = (
        tmp_path / "report",
        [mutant_sample.Mutant(Path("a.py"), 3, "core/AddNot", at) for at in (0, 1)],
    )
    assert mutants.read_noticed(report) == mutants.read_noticed(None) == set()
    outcomes = [mutants.Outcome(one, "", "a  →  b"), mutants.Outcome(other, "FAILED test", "a  →  b")]
    report.write_text("".join(json.dumps(asdict(each), default=str) + "\n" for each in outcomes))
    assert mutants.read_noticed(report) == {other}


@pytest.mark.parametrize(
    ("used", "has_ended", "joins"),
    [
        ([1.0, 2.0, 3.0], True, 4),  # it works, and ends
        ([1.0, 1.7, 1.8], False, 3),  # its processes wait
        ([0.0], False, 1),
        ([10.0 * count for count in range(1, 30)], False, 20),  # it works without end
    ],
)
def test_tests_that_wait_or_work_without_end_are_noticed(
    used: list[float], has_ended: bool, joins: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Process:
        pid, exitcode, joined = 7, None, 0

        def join(self, seconds: float) -> None:
            self.joined += 1
            self.exitcode = 0 if self.joined > len(used) else None

    process, answers = Process(), iter([*used, used[-1]])
    monkeypatch.setattr(mutants, "processor_seconds", lambda session: next(answers))
    monkeypatch.setattr(mutants, "time", SimpleNamespace(monotonic=lambda: 60.0 * process.joined))
    assert mutants.wait_for_end(process) == has_ended  # type: ignore[arg-type]
    assert process.joined == joins


def test_the_tests_of_a_line_are_of_as_many_files_as_there_are() -> None:
    tests = [*(f"tests/a.py::test[{number}]" for number in range(50)), "tests/b.py::one", "tests/b.py::two"]
    found = mutants.spread(tests, 3)
    assert [sorted({test.partition("::")[0] for test in found[:count]}) for count in (2, 3)] == [
        ["tests/a.py", "tests/b.py"],
        ["tests/a.py", "tests/b.py"],
    ]
    assert len(found) == 3
    assert sorted(mutants.spread(tests, 99)) == sorted(tests)


def test_the_time_of_a_session_counts_its_processes() -> None:
    inner = "subprocess.run([sys.executable, '-c', 'sum(range(10**7))'])"
    code = f"import subprocess, sys; {inner}; print(flush=True); input()"
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
        process.stdout.readline()
        assert mutants.processor_seconds(process.pid) > 0
        process.communicate(b"\n")
    assert mutants.processor_seconds(process.pid) == 0


def test_a_failure_in_a_copy_is_told_and_success_is_not(tmp_path: Path) -> None:
    """As its own process: what forks for it should not have the tests' modules loaded."""
    code = (
        "import sys; from functools import partial; from pathlib import Path; from tools import mutants\n"
        "if __name__ == '__main__':\n"
        "    print([bool(mutants.find_failure(Path(sys.argv[1]), partial(int, number))) for number in ('0', '1')])\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    (tmp_path / "copy").mkdir()
    done = subprocess.run(
        [sys.executable, script, tmp_path / "copy"],
        env=os.environ | {"PYTHONPATH": str(mutant_sample.REPOSITORY)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[False, True]\n", done.stderr
