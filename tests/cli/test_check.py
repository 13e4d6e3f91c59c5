"""``nnapi check`` as a user calls it."""

import json
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.testing.corpus import INDEX, write
from nnapi.testing.example import (
    Example,
    ExampleGraph,
    Harness,
    OperandSource,
    OperandSpec,
    OperationSpec,
)
from tests.testing.flawed_device_cases import perform_here


def relu(name: str, *expected: float) -> Example:
    """[-1, 2] through RELU; right when [0, 2] is expected."""
    operands = tuple(
        OperandSpec("TENSOR_FLOAT32", (2,), lifetime=lifetime, name=lifetime.name.lower())
        for lifetime in (OperandSource.SUBGRAPH_INPUT, OperandSource.SUBGRAPH_OUTPUT)
    )
    main = ExampleGraph(operands, (OperationSpec("RELU", (0,), (1,)),), (0,), (1,))
    outputs = {1: np.array(expected, np.float32)}
    return Example(name, main, {0: np.array([-1, 2], np.float32)}, outputs, harness=Harness(dynamic_output_shape=True))


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    perform_here(monkeypatch)


@pytest.fixture
def right(tmp_path: Path) -> Path:
    write(tmp_path / "right.npz", [relu("relu_one", 0, 2), relu("relu_two", 0, 2)])
    return tmp_path / "right.npz"


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    write(tmp_path / "wrong.npz", [relu("relu_one", 0, 2), relu("relu_off", 0, 2.5)])
    return tmp_path / "wrong.npz"


def call(*arguments: object) -> Any:
    """Return the result of ``nnapi check`` with these arguments."""
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


def row(text: str, name: str) -> list[str]:
    """The cells of the table row that begins with a name."""
    (found,) = re.findall(rf"^{name} +(.*)$", text, re.MULTILINE)
    return found.split()


def test_success(right: Path) -> None:
    result = call(right, "--device", "nnapi-reference", "--variants", "plain,dynamic,validation")
    said = result.stdout
    assert result.exit_code == 0, result.output
    assert row(said, "plain") == ["2", "2"]
    assert row(said, "dynamic") == ["2", "2"]
    assert row(said, "validation") == ["0"]
    assert row(said, "RELU") == ["4", "4"]
    assert "no run failed" in said
    assert "relu_two" in said.split("slowest examples")[1]


def test_failure_names_the_first_difference(wrong: Path) -> None:
    result = call(wrong, "--variants", "plain")
    said = result.stdout
    assert result.exit_code == 1, result.output
    assert "relu_off/plain: output 0 (subgraph_output)[1] is 2, expected 2.5" in said
    assert row(said, "plain") == ["2", "1", "1"]
    assert "1 run failed" in said


def test_progress_counts_failures(wrong: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("nnapi.cli.check_examples.progress", lambda out, total: nullcontext(shown.append))
    write(wrong.with_name("zero.npz"), [relu("relu_last", 0, 2)])
    call(wrong.parent, "--variants", "plain")
    assert shown == ["relu_one", "relu_off", "relu_last, 1 failed"]


def test_json(wrong: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    assert call(wrong, "--device", "nnapi-reference", "--variants", "plain,dynamic", "--output", file).exit_code == 1
    said = json.loads(file.read_text())
    counts = {"total": 2, "passed": 1, "failed": 1, "skipped": 0, "crashed": 0, "timed out": 0, "flaky": 0}
    failures, results = said.pop("failures"), said.pop("results")
    assert [(each["test"], each["status"], each["operations"], each["type"]) for each in results] == [
        ("relu_one/plain", "passed", ["RELU"], "TENSOR_FLOAT32"),
        ("relu_one/dynamic", "passed", ["RELU"], "TENSOR_FLOAT32"),
        ("relu_off/plain", "failed", ["RELU"], "TENSOR_FLOAT32"),
        ("relu_off/dynamic", "failed", ["RELU"], "TENSOR_FLOAT32"),
    ]
    assert said == {
        "format": "nnapi-check",
        "version": 1,
        "device": "nnapi-reference",
        "corpus": str(wrong),
        "variants": {"plain": counts, "dynamic": counts},
    }
    assert [(failure["name"], failure["variant"]) for failure in failures] == [
        ("relu_off", "plain"),
        ("relu_off", "dynamic"),
    ]
    assert "is 2, expected 2.5" in failures[0]["reason"]


def test_the_device_is_null_where_the_runtime_chooses(right: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    assert call(right, "--variants", "plain", "--output", file).exit_code == 0
    assert json.loads(file.read_text())["device"] is None


def test_the_published_examples_are_run_where_none_are_named(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    options = ["--device", "nnapi-reference", "--variants", "plain", "--filter", "ABS", "--output", file]
    assert call(*options).exit_code == 0
    assert json.loads(file.read_text())["variants"]["plain"]["passed"] == 4


@pytest.mark.slow
def test_filter_and_jobs(wrong: Path) -> None:
    result = call(wrong, "--filter", "one", "--variants", "plain", "--jobs", "2")
    assert result.exit_code == 0
    assert row(result.stdout, "plain") == ["1", "1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{right}", "--variants", "plane"], "nnapi: no variant plane; there are: plain, dynamic, signed"),
        (["{right}", "--variants", ","], "nnapi: --variants names no variant; there are: plain"),
        (["{right}", "--filter", "conv"], "nnapi: {right}: no example is named conv"),
        (["{right}", "--device", "mars"], "nnapi: no device 'mars'; there are: "),
        (["{right}x"], "nnapi: {right}x: no such file or folder"),
        (["{right}", "--output", "/nowhere/o.json", "--variants", "plain"], "nnapi: /nowhere/o.json: No such file"),
    ],
)
def test_mistakes_are_one_line(right: Path, arguments: list[str], message: str) -> None:
    result = call(*(argument.format(right=right) for argument in arguments))
    said = result.stderr
    assert result.exit_code == (4 if "mars" in arguments else 2), result.output
    assert said.startswith(message.format(right=right))
    assert said.count("\n") == 1


def write_index(folder: Path, names: list[str]) -> None:
    """Write the index of relu.npz, which has relu_one, relu_two and relu_off in this order."""
    write(folder / "relu.npz", [relu("relu_one", 0, 2), relu("relu_two", 0, 2), relu("relu_off", 0, 2.5)])
    kept = {"ops": ["RELU"], "types": [], "min_feature": "UNKNOWN", "relaxed": False, "expect_failure": False}
    (folder / INDEX).write_text("".join(json.dumps({"file": "relu.npz", "name": name} | kept) + "\n" for name in names))


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_index_in_another_order_than_its_files(jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_index(tmp_path, ["relu_off", "relu_two", "relu_one"])
    shown: list[str] = []
    monkeypatch.setattr("nnapi.cli.check_examples.progress", lambda out, total: nullcontext(shown.append))
    done = call(tmp_path, "--variants", "plain", "--jobs", jobs)
    assert done.exit_code == 1
    assert row(done.output, "plain") == ["3", "2", "1"]
    assert sorted(text.partition(",")[0] for text in shown) == ["relu_off", "relu_one", "relu_two"]


def test_an_index_that_lists_what_its_file_does_not_have(tmp_path: Path) -> None:
    write_index(tmp_path, ["relu_one", "relu_none"])
    done = call(tmp_path, "--variants", "plain")
    assert done.exit_code == 3
    assert "relu.npz: index.jsonl lists relu_none, which the file does not have" in " ".join(done.output.split())


def test_a_broken_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.npz").write_bytes(b"nothing")
    result = call(tmp_path / "bad.npz")
    assert result.exit_code == 3
    assert "bad.npz" in result.stderr


@pytest.mark.parametrize("content", [b"", b"text, no archive\n", b"\x93NUMPY\x01\x00"])
def test_a_file_that_is_no_corpus(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(content)
    result = CliRunner().invoke(app, ["check", str(file)])
    assert (result.exit_code, result.stderr) == (3, f"nnapi: {file}: not a .npz file\n")


def test_a_device_that_is_named_twice_is_refused(right: Path) -> None:
    result = call(right, "-d", "nnapi-reference", "-d", "nnapi-reference")
    assert result.exit_code == 2
    assert "nnapi-reference is listed twice" in result.output


def test_two_examples_of_one_name_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "same.npz", [relu("relu_one", 0, 2), relu("relu_two", 0, 2), relu("relu_one", 0, 2.5)])
    result = call(tmp_path / "same.npz", "-d", "nnapi-reference")
    assert result.exit_code == 3
    assert "same.npz: 2 examples are named relu_one" in result.output.replace("\n", "")
