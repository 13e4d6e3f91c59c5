"""`nnapi migrate`: files, verdicts of accelerators, the page, and exit codes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import nnapi
from nnapi.cli import app
from nnapi.cli.accelerators import NoAnswerError, count_accepted
from nnapi.model.model import Model
from nnapi.report.engines import OTHERS, Array, File, LiteRT, Opened, Run
from nnapi.testing.corpus import write
from tests.cli.test_check import relu
from tests.runtime.device_cases import build_reversed

pytest.importorskip("ai_edge_litert")
pytestmark = pytest.mark.usefixtures("without_compilers")


@pytest.fixture
def without_compilers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vendors' compilers take seconds, and tests of their own."""
    monkeypatch.setattr("nnapi.cli.migrate.list_compilers", list)
    monkeypatch.setattr("nnapi.cli.migrate.NPUS", ())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A float ADD, which XNNPACK takes, and an integer one, which it leaves to LiteRT's kernels."""
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", (2, 3)), name="x")
    n = builder.input(nnapi.tensor("int32", (2, 3)), name="n")
    builder.output(builder.add(x, x, name="sum"), builder.add(n, n, name="count"))
    nnapi.export(builder.finish(), path := tmp_path / "two.tflite")
    return path


def migrate(*arguments: object) -> tuple[int, list[dict[str, Any]]]:
    result = CliRunner().invoke(app, ["migrate", *map(str, arguments), "--json"])
    return result.exit_code, json.loads(result.stdout)["models"]


def test_a_file_and_its_accelerators(file: Path, tmp_path: Path) -> None:
    code, (model,) = migrate(file, "--output", tmp_path / "out")
    assert (code, model["model"], model["is_equal"], model["problem"]) == (0, "two", True, "")
    x, n = np.ones((2, 3), np.float32), np.full((2, 3), 2, np.int32)
    total, count = nnapi.compile(nnapi.load(model["file"])).run(x, n)
    assert (total == 2).all()
    assert (count == 4).all()
    (answer,) = model["accelerators"]
    assert (answer["name"], answer["taken"], answer["total"], answer["partitions"]) == ("LiteRT XNNPACK", 1, 2, 1)
    assert (answer["problem"], answer["files"]) == ("", [])
    assert answer["source"].startswith("engine: LiteRT ")
    refusals = [operation["refusals"] for operation in model["operations"]]
    assert sorted(refusals, key=len) == [{}, {"LiteRT XNNPACK": "LiteRT computes ADD without XNNPACK"}]


def test_the_page_names_refusals(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["migrate", str(file), "--output", str(tmp_path / "out"), "--html", str(page)])
    assert result.exit_code == 0, result.output
    assert ": LiteRT XNNPACK: LiteRT computes ADD without XNNPACK\n" in result.stdout
    for words in ("1 of 2", "LiteRT computes ADD without XNNPACK", "two.tflite"):
        assert words in page.read_text()


def test_a_profile_is_asked_too(file: Path, tmp_path: Path) -> None:
    profile = tmp_path / "npu.toml"
    profile.write_text('name = "npu"\n[operations.ADD]\ntypes = ["TENSOR_INT32"]\n')
    _, (model,) = migrate(file, "--output", tmp_path / "out", "--device", profile)
    assert [(each["taken"], each["partitions"]) for each in model["accelerators"]] == [(1, 1), (1, 1)]
    assert model["accelerators"][1]["source"].startswith("profile: ")
    reasons = [operation["refusals"].get(str(profile)) for operation in model["operations"]]
    assert set(reasons) == {None, "npu takes lhs as TENSOR_INT32, not as TENSOR_FLOAT32"}


class Compiler:
    """A vendor's compiler that takes integers only, and writes a file."""

    name, source, is_slow = "npu", "vendor's compiler: a test", True
    questions = 0

    def list_refusals(self, model: Model, parts: Sequence[Model]) -> list[str]:
        self.questions += 1
        types = [model.operands[call.outputs[0]].type.name for call in model.operations]
        return ["" if type == "TENSOR_INT32" else "not an integer" for type in types]

    def count_partitions(self, model: Model, refusals: Sequence[str]) -> int:
        return count_accepted(model, refusals)

    def write_files(self, model: Model, start: Path) -> list[Path]:
        (path := start.with_name(f"{start.name}-npu.bin")).write_bytes(b"compiled")
        return [path]


class Missing(Compiler):
    name = "other"

    def list_refusals(self, model: Model, parts: Sequence[Model]) -> list[str]:
        raise NoAnswerError("the vendor's library libother.so is missing")


def test_compilers_answer_with_files_or_say_what_is_missing(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nnapi.cli.migrate.list_compilers", lambda: [Compiler(), Missing()])
    page = tmp_path / "page.html"
    _, (model,) = migrate(file, "--output", tmp_path / "out", "--html", page)
    _, npu, other = model["accelerators"]
    assert (npu["source"], npu["taken"], npu["total"]) == ("vendor's compiler: a test", 1, 2)
    assert [Path(path).read_bytes() for path in npu["files"]] == [b"compiled"]
    assert other["problem"] == "the vendor's library libother.so is missing"
    for words in ("vendor&#39;s compiler: a test", "two-npu.bin", "libother.so is missing", "engine: LiteRT "):
        assert words in page.read_text()
    assert sum("npu" in operation["refusals"] for operation in model["operations"]) == 1
    assert all("other" not in operation["refusals"] for operation in model["operations"])


def test_edits_are_tried_once_for_each_reason_on_slow_compilers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", (2, 3)), name="x")
    builder.output(builder.abs(builder.abs(builder.abs(x))))
    nnapi.export(builder.finish(), path := tmp_path / "three.tflite")
    tried = Compiler()
    monkeypatch.setattr("nnapi.cli.migrate.list_compilers", lambda: [tried])
    edits = [("half it", build_reversed()), ("double it", build_reversed())]
    monkeypatch.setattr("nnapi.cli.migrate.list_edits", lambda part: iter(edits))
    migrate(path, "--output", tmp_path / "out")
    assert tried.questions == 1 + len(edits)


def test_models_of_a_recording_run_on_what_was_recorded(tmp_path: Path) -> None:
    write(tmp_path / "app.npz", [relu("relu_one", 0, 2), relu("relu_two", 0, 2)])
    code, models = migrate(tmp_path / "app.npz", "--output", tmp_path)
    assert code == 0
    assert [Path(model["file"]).name for model in models] == ["app-0.tflite", "app-1.tflite"]
    assert all(model["is_equal"] for model in models)


def test_a_model_that_cannot_be_written(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(model: nnapi.Model, path: Path) -> None:
        raise nnapi.BadDataError("TOPK_V2 (#0): LiteRT has no operator with this meaning")

    monkeypatch.setattr(nnapi, "export", refuse)
    code, (model,) = migrate(file, "--output", tmp_path / "out")
    assert (code, model["file"]) == (3, None)
    assert model["problem"] == "TOPK_V2 (#0): LiteRT has no operator with this meaning"


def test_other_results_in_litert(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OTHERS, "litert", Wrong())
    code, (model,) = migrate(file, "--output", tmp_path / "out")
    assert (code, model["is_equal"]) == (1, False)
    assert {operation["verdict"] for operation in model["operations"]} == {"differs"}


class Wrong(LiteRT):
    """LiteRT, with results that are one too large."""

    def open(self, path: File, threads: int) -> Opened:
        prepare = super().open(path, threads).prepare

        def prepare_wrong(count: int) -> list[Run]:
            return [partial(add_one, run) for run in prepare(count)]

        return Opened(prepare_wrong)


def add_one(run: Run, inputs: Sequence[Array]) -> list[Array]:
    return [array + 1 for array in run(inputs)]


@pytest.mark.parametrize("content", [None, b"no model"])
def test_a_bad_file_keeps_none_from_being_migrated(file: Path, tmp_path: Path, content: bytes | None) -> None:
    bad, page, out = tmp_path / "bad.tflite", tmp_path / "page.html", tmp_path / "out"
    if content:
        bad.write_bytes(content)
    words = ["migrate", str(bad), str(file), "-o", str(out), "--html", str(page)]
    result = CliRunner().invoke(app, words)
    reason = "No such file" if content is None else "no model that can be read"
    assert result.exit_code == 3
    assert result.stderr.splitlines()[0].startswith(f"nnapi: {bad}: ")
    assert result.stderr.splitlines()[1:] == ["nnapi: 1 of 2 models failed"]
    assert "two.tflite: " in result.stdout
    for said in (result.stdout, result.stderr, page.read_text()):
        assert reason in said
    code, (first, second) = migrate(bad, file, "-o", out)
    assert (code, first["file"], second["is_equal"]) == (3, None, True)
    assert reason in first["problem"]


def test_a_file_that_cannot_be_written_among_several(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.tflite"
    other.write_bytes(file.read_bytes())
    (tmp_path / "out" / "other.tflite").mkdir(parents=True)
    code, (first, second) = migrate(other, file, "-o", tmp_path / "out")
    assert (code, first["file"], second["is_equal"]) == (3, None, True)
    assert "Is a directory" in first["problem"]


def test_a_bad_file_alone_is_the_error_of_the_command(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["migrate", str(tmp_path / "none.tflite"), "-o", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (2, "")


def test_two_models_of_one_name(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "folder" / file.name
    result = CliRunner().invoke(app, ["migrate", str(file), str(other), "-o", str(tmp_path / "out")])
    assert (result.exit_code, (tmp_path / "out").exists()) == (2, False)
    assert f"{file} and {other} would both be written" in result.stderr
