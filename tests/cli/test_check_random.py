"""``nnapi check --random`` as a user calls it."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.testing.random.session import RandomSuite
from tests.testing.flawed_device_cases import install, perform_here, write_device


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    perform_here(monkeypatch)


def call(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


@pytest.mark.slow
def test_a_session_says_its_seed_and_what_came_of_it(tmp_path: Path) -> None:
    chosen = ("--device", "nnapi-reference", "--seed", 3, "--seconds", 3, "-v", "--filter", "RELU")
    result = call("--random", *chosen, "--failures", tmp_path / "failures", "--output", tmp_path / "out.json")
    assert result.exit_code == 0, result.output
    assert "nnapi-reference, seed 3:" in result.stdout
    assert "0 failed" in result.stdout
    assert "RELU" in result.stdout
    (said,) = json.loads((tmp_path / "out.json").read_text())["devices"]
    assert said["seed"] == 3
    assert said["agreed"] == said["operations"]["RELU"]["agreed"] > 0
    assert not (tmp_path / "failures").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--random", "corpus"), "--random generates its models: omit corpus"),
        (("--random", "--values", "odd"), "--values is odd, must be one of ordinary, non-finite"),
        (("--random", "--filter", "conv"), "there is no operation conv"),
        (("--random", "--against", "tf"), "--against is tf, must be litert, onnxruntime, .tflite, .onnx"),
        (("--random", "--against", ".onnx", "-d", "xnnpack-cpu"), "--against tests files, not devices: omit --device"),
        (("--against", ".onnx"), "--against has no effect: it needs --random"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], message: str) -> None:
    result = call(*arguments)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".tflite", ".onnx"])
def test_files_that_are_read_again_are_tested(suffix: str, tmp_path: Path) -> None:
    if suffix == ".onnx":
        pytest.importorskip("onnx", reason="onnx is an extra: nnapi[onnx]")
    chosen = ("--against", suffix, "--seed", 3, "--seconds", 3, "--filter", "RELU", "--failures", tmp_path)
    result = call("--random", *chosen)
    assert result.exit_code == 0, result.output
    assert f"{suffix}, seed 3:" in result.stdout
    assert " 0 agreed" not in result.stdout


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run eight random models of RELU with seed 5 on a device with these faults."""
    install(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nnapi.cli.check_random.RandomSuite", partial(RandomSuite, cases=8))

    def run(*options: object, **faults: str) -> Any:
        device = write_device(tmp_path / "device.flawed", **faults)
        return call("--random", "-d", device, "--filter", "RELU", *options)

    return run


def found(file: Path) -> dict[str, tuple[str, str]]:
    (described,) = json.loads(file.read_text())["devices"]
    return {each["test"]: (each["status"], each["verdict"]) for each in described["results"]}


def test_failures_are_files_that_run_by_themselves(session: Callable[..., Any], tmp_path: Path) -> None:
    assert session("--seed", 5, "-o", "out.json", RELU="lies").exit_code == 1
    (described,) = json.loads((tmp_path / "out.json").read_text())["devices"]
    failed = [each for each in described["results"] if each["status"] == "failed"]
    assert failed
    for each in failed:
        example = call(each["file"], "-d", "device.flawed", "--variants", "plain")
        assert example.exit_code == 1
        assert "1 run failed" in example.output
        assert call(each["file"], "-d", "nnapi-reference", "--variants", "plain").exit_code == 0


def test_a_crash_costs_one_model(session: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = session("--seed", 5, "-o", "out.json", RELU="crashes")
    assert result.exit_code == 1
    statuses = [status for status, _ in found(tmp_path / "out.json").values()]
    assert statuses.count("crashed") == len(list((tmp_path / "failures").glob("*.npz"))) > 0
    assert "random_5_0: crashed: it would have crashed" in result.output


def test_a_baseline_of_a_seed(session: Callable[..., Any], tmp_path: Path) -> None:
    session("--seed", 5, "--save-baseline", "base.csv", RELU="lies")
    shutil.rmtree("failures")
    result = session("--seed", 5, "--baseline", "base.csv", RELU="lies")
    assert result.exit_code == 0, result.output
    assert "all models are as the baseline expects" in result.output
    assert not (tmp_path / "failures").exists()
    assert session("--seed", 5, "--baseline", "base.csv").exit_code == 1


def test_a_failing_model_runs_again(session: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "flakes.txt").touch()
    assert session("--seed", 5, "--flakes", "flakes.txt", "-o", "out.json", RELU="flickers").exit_code == 0
    verdicts = [verdict for _, verdict in found(tmp_path / "out.json").values()]
    assert (verdicts.count("flake"), verdicts.count("regression")) == (1, 0)


def test_shards_skips_and_jobs(session: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "skips.txt").write_text("random_5_3\n")
    session("--seed", 5, "-o", "all.json")
    session("--seed", 5, "-o", "out.json", "--shard", "2/2", "--skip", "skips.txt", "--jobs", 2)
    every = [name for name in found(tmp_path / "all.json") if int(name.rpartition("_")[2]) % 2]
    assert sorted(found(tmp_path / "out.json")) == [name for name in every if name != "random_5_3"]


@pytest.mark.slow
def test_a_session_is_resumed_with_its_seed(session: Callable[..., Any], tmp_path: Path) -> None:
    session("--resume", "run.jsonl", "-o", "one.json", RELU="lies")
    result = session("--resume", "run.jsonl", "-o", "two.json")
    one, two = (json.loads((tmp_path / name).read_text())["devices"][0] for name in ("one.json", "two.json"))
    assert (one["seed"], one["results"]) == (two["seed"], two["results"])
    assert result.exit_code == 1
    result = session("--resume", "run.jsonl", "--seed", one["seed"] + 1)
    assert "run.jsonl cannot be resumed: it is a run with seed" in result.output
