"""The lists and files of ``nnapi check``, on devices that lie, crash, hang, flicker and refuse."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from nnapi.cli import app
from tests.testing.flawed_device_cases import install, perform_here, write_device, write_examples

LIMIT = 5
"""Seconds that an example may take where one hangs: many times as long as the others need."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def check(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run the examples in ``all.npz`` plainly, in this process, on the device with these faults."""
    perform_here(monkeypatch)
    return make_check(folder)


def make_check(folder: Path) -> Callable[..., Any]:
    write_examples(folder / "all.npz", "RELU", "RELU1", "ABS", "NEG", "FLOOR")

    def run(*options: object, **faults: str) -> Any:
        device = write_device(folder / "device.flawed", **faults)
        words = ["check", folder / "all.npz", "-d", device, "--variants", "plain", *options]
        return CliRunner().invoke(app, list(map(str, words)))

    return run


def statuses(file: Path) -> dict[str, tuple[str, str]]:
    """Return the status and the verdict of each test in a file of results."""
    results = json.loads(file.read_text())["results"]
    return {each["test"].removesuffix("/plain"): (each["status"], each["verdict"]) for each in results}


@pytest.mark.slow
def test_a_fault_of_a_device_costs_one_example(folder: Path) -> None:
    check = make_check(folder)
    faults = {"RELU": "lies", "RELU1": "crashes", "NEG": "hangs", "FLOOR": "refuses"}
    result = check("-o", "out.json", "--timeout", LIMIT, **faults)
    assert result.exit_code == 1, result.output
    assert statuses(folder / "out.json") == {
        "relu": ("failed", "regression"),
        "relu1": ("crashed", "regression"),
        "abs": ("passed", "expected"),
        "neg": ("timed out", "regression"),
        "floor": ("skipped", "expected"),
    }
    assert "relu/plain: output 0 (subgraph_output)[0] is 1, expected 0" in result.output
    assert "relu1/plain: crashed: the process ended: SIGABRT" in result.output
    assert f"neg/plain: timed out: no answer within {LIMIT} s" in result.output
    assert "1 run skipped, plain: the device lacks it" in result.output
    assert "3 runs failed" in result.output
    types = {each["type"] for each in json.loads((folder / "out.json").read_text())["results"]}
    assert types == {"TENSOR_FLOAT32"}


def test_a_baseline_expects_faults_and_refusals(check: Callable[..., Any], folder: Path) -> None:
    faults = {"RELU": "lies", "RELU1": "crashes", "FLOOR": "refuses"}
    assert check("--save-baseline", "base.csv", **faults).exit_code == 1
    rows = list(csv.reader((folder / "base.csv").read_text().splitlines()))
    assert rows[0] == ["test", "status", "reason"]
    assert [row[:2] for row in rows[1:]] == [
        ["floor/plain", "skipped"],
        ["relu/plain", "failed"],
        ["relu1/plain", "crashed"],
    ]
    assert rows[1][2] == "the device lacks it"
    result = check("--baseline", "base.csv", **faults)
    assert result.exit_code == 0, result.output
    assert "all runs are as the baseline expects" in result.output


def test_regressions_and_improvements_are_unexpected(check: Callable[..., Any], folder: Path) -> None:
    check("--save-baseline", "base.csv", RELU="lies", RELU1="crashes", FLOOR="refuses")
    result = check("--baseline", "base.csv", "-o", "out.json", RELU1="lies", ABS="refuses", FLOOR="refuses")
    assert result.exit_code == 1
    assert statuses(folder / "out.json") == {
        "relu": ("passed", "improvement"),
        "relu1": ("failed", "improvement"),
        "abs": ("skipped", "regression"),
        "neg": ("passed", "expected"),
        "floor": ("skipped", "expected"),
    }
    assert "relu/plain: passed, expected: failed" in result.output
    assert "abs/plain: skipped: the device lacks it" in result.output
    assert "1 regression, 2 improvements" in result.output
    result = check("--baseline", "base.csv", RELU="lies", RELU1="crashes", FLOOR="lies")
    assert "floor/plain: failed, expected: skipped: output 0 (subgraph_output)[0] is 0, expected -1" in result.output


def test_a_better_device_alone_is_unexpected(check: Callable[..., Any]) -> None:
    check("--save-baseline", "base.csv", RELU="lies")
    result = check("--baseline", "base.csv")
    assert result.exit_code == 1
    assert "1 improvement" in result.output


def test_a_new_baseline_keeps_reasons_and_tests_that_did_not_run(check: Callable[..., Any], folder: Path) -> None:
    base = folder / "base.csv"
    lines = ["# of firmware 7", "test,status,reason", 'relu/plain,failed,"rounds, ticket 7"', "neg/plain,failed,"]
    base.write_text("\n".join(lines) + "\n")
    check("--baseline", base, "--save-baseline", base, "--filter", "*[u1]", RELU="lies", RELU1="refuses")
    assert base.read_text().splitlines() == [
        "test,status,reason",
        "neg/plain,failed,",
        'relu/plain,failed,"rounds, ticket 7"',
        "relu1/plain,skipped,the device lacks it",
    ]
    check("--baseline", base, "--save-baseline", base)
    assert base.read_text() == "test,status,reason\n"


def test_a_failing_example_runs_again(check: Callable[..., Any], folder: Path) -> None:
    (folder / "flakes.txt").write_text("# none is known\n")
    result = check("--flakes", "flakes.txt", "-o", "out.json", RELU="flickers", ABS="lies")
    assert result.exit_code == 1
    found = statuses(folder / "out.json")
    assert (found["relu"], found["abs"]) == (("flaky", "flake"), ("failed", "regression"))
    assert "relu/plain: flake, flaky: failed: output 0 (subgraph_output)[0] is 1, expected 0" in result.output
    assert "; then passed" in result.output


def test_known_flakes_are_named(check: Callable[..., Any], folder: Path) -> None:
    (folder / "flakes.txt").write_text("RELU\nab*/plain\n")
    result = check("--flakes", "flakes.txt", "-o", "out.json", RELU="flickers", ABS="crashes")
    assert result.exit_code == 0, result.output
    found = statuses(folder / "out.json")
    assert (found["relu"], found["abs"]) == (("failed", "known flake"), ("crashed", "known flake"))
    assert "2 known flakes" in result.output


def test_without_the_option_nothing_runs_again(check: Callable[..., Any], folder: Path) -> None:
    check("-o", "out.json", RELU="flickers")
    assert statuses(folder / "out.json")["relu"] == ("failed", "regression")


def test_skipped_tests_do_not_run(check: Callable[..., Any], folder: Path) -> None:
    (folder / "skips.txt").write_text("# hangs the machine\nNEG\nrelu1/plain\nf*\n\n")
    check("--skip", "skips.txt", "-o", "out.json", NEG="crashes")
    assert list(statuses(folder / "out.json")) == ["relu", "abs"]


def test_shards_are_disjoint_and_complete(check: Callable[..., Any], folder: Path) -> None:
    (folder / "skips.txt").write_text("relu1\n")
    for k in (1, 2):
        check("--shard", f"{k}/2", "-o", f"{k}.json")
    check("--shard", "1/2", "--skip", "skips.txt", "-o", "less.json")
    assert list(statuses(folder / "1.json")) == ["relu", "abs", "floor"]
    assert list(statuses(folder / "2.json")) == ["relu1", "neg"]
    assert list(statuses(folder / "less.json")) == ["relu", "abs", "floor"]


def test_a_run_is_resumed(check: Callable[..., Any], folder: Path) -> None:
    """The second run repeats nothing that is recorded, so it does not see that the device became worse."""
    journal = folder / "run.jsonl"
    check("--resume", journal, "-o", "first.json", RELU="lies")
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:3]) + lines[3][:40])
    check("--resume", journal, "-o", "second.json", ABS="lies", RELU1="lies")
    found = {name: status for name, (status, _) in statuses(folder / "second.json").items()}
    assert found == {"relu": "failed", "relu1": "passed", "abs": "failed", "neg": "passed", "floor": "passed"}
    assert [json.loads(line).get("example") for line in journal.read_text().splitlines()] == [
        None,
        "relu",
        "relu1",
        "abs",
        "neg",
        "floor",
    ]
    result = check("--resume", journal, "--strict")
    assert result.exit_code == 3
    assert "run.jsonl cannot be resumed: it is a run with strict False" in result.stderr
    journal.write_text(journal.read_text().replace('"1"', '"0.9"', 1))
    result = check("--resume", journal)
    assert f"it is a run with device {{'{folder / 'device.flawed'}': '0.9'}}" in result.stderr


def test_junit_and_csv(check: Callable[..., Any], folder: Path) -> None:
    check("--save-baseline", "base.csv", NEG="lies", FLOOR="refuses", ABS="lies")
    (folder / "flakes.txt").write_text("")
    lists = ("--baseline", "base.csv", "--flakes", "flakes.txt")
    files = ("--junit", "out.xml", "--csv", "out.csv")
    check(*lists, *files, NEG="lies", FLOOR="refuses", RELU="flickers", RELU1="crashes")
    (suite,) = ElementTree.parse(folder / "out.xml").getroot()
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "5", "failures": "1", "errors": "1", "skipped": "2"}
    found = {case.get("name"): [each.tag for each in case] for case in suite}
    assert found == {
        "relu/plain": ["system-out"],
        "relu1/plain": ["error"],
        "abs/plain": ["failure"],
        "neg/plain": ["skipped"],
        "floor/plain": ["skipped"],
    }
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "passed, expected: failed"
    rows = list(csv.DictReader((folder / "out.csv").read_text().splitlines()))
    assert [(row["test"], row["status"], row["verdict"]) for row in rows] == [
        ("relu/plain", "flaky", "flake"),
        ("relu1/plain", "crashed", "regression"),
        ("abs/plain", "passed", "improvement"),
        ("neg/plain", "failed", "expected"),
        ("floor/plain", "skipped", "expected"),
    ]
    assert {row["operations"] for row in rows} == {"RELU", "RELU1", "ABS", "NEG", "FLOOR"}


@pytest.mark.parametrize(
    ("options", "content", "message", "code"),
    [
        (["--shard", "3/2"], "", "--shard is 3/2, must be k/n with k from 1 to n, as in 1/4", 2),
        (["--shard", "0/2"], "", "--shard is 0/2, must be", 2),
        (["--shard", "one"], "", "--shard is one, must be", 2),
        (["--baseline", "list"], "relu/plain,late,\n", "list: not a line of a baseline (test,status,reason): relu", 3),
        (["--baseline", "list"], "relu/plain\n", "list: not a line of a baseline (test,status,reason): relu", 3),
        (["--baseline", "list"], "a,passed,\n", "list: a cannot be expected to be passed; possible: failed, ", 3),
        (["--baseline", "list"], "a,failed,\na,failed,\n", "list: a is listed twice", 3),
        (["--baseline", "none"], "", "none: No such file or directory", 2),
        (["--skip", "none"], "", "none: No such file or directory", 2),
        (["--resume", "list"], "{}\n", "list cannot be resumed: it was not written by --resume", 3),
        (["--resume", "list"], "[]\n", "list cannot be resumed: it was not written by --resume", 3),
        (["--html", "page.txt"], "", "--html is page.txt, must end in .html or .htm", 2),
    ],
)
def test_mistakes_are_one_line(
    options: list[str], content: str, message: str, code: int, check: Callable[..., Any], folder: Path
) -> None:
    (folder / "list").write_text(content)
    result = check(*options)
    assert (result.exit_code, result.stderr.count("\n")) == (code, 1), result.output
    assert message in result.stderr


def test_files_may_have_examples_of_one_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    perform_here(monkeypatch)
    (folder / "set").mkdir()
    write_examples(folder / "set" / "a.npz", "RELU", "ABS")
    write_examples(folder / "set" / "b.npz", "RELU")
    words = ["check", "set", "-d", "nnapi-reference", "--variants", "plain", "-o", "out.json", "--resume", "run.jsonl"]
    for _ in range(2):
        CliRunner().invoke(app, words)
        assert list(statuses(folder / "out.json")) == ["a.npz:relu", "abs", "b.npz:relu"]
