"""``--on``: the same answers as on this machine, from the workers of a cluster."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import nnapi
from nnapi.cli import app, cluster_runs
from nnapi.cli.accuracy import make_cluster_judge, make_judge
from nnapi.cluster import predictor
from nnapi.cluster.shards import Cluster
from nnapi.report.dataset import Example
from nnapi.report.engines import UnsuitableError
from tests.cluster.ray_cases import FakeRay

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
MODEL = DIGITS / "digits_quant.tflite"
REFERENCE = "nnapi-reference"


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The clusters that were connected to, each of which computes here."""
    named: list[str] = []

    @contextmanager
    def connect(place: str) -> Iterator[Cluster]:
        named.append(place)
        yield Cluster(FakeRay())

    monkeypatch.setattr(cluster_runs, "connect", connect)
    return named


@pytest.fixture
def scans(tmp_path: Path) -> list[Path]:
    """Forty scans of digits, in a folder for each class."""
    with np.load(DIGITS / "digits_test.npz") as split:
        images, labels = split["images"][:40], split["labels"][:40]
    files = []
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        files.append(tmp_path / str(label) / f"{number}.npy")
        files[-1].parent.mkdir(exist_ok=True)
        np.save(files[-1], image.reshape(1, 8, 8, 1) / 16.0)
    return files


def call(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [*map(str, arguments)])


def told(*arguments: object) -> Any:
    result = call("run", MODEL, "--device", REFERENCE, "--json", *arguments)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    for one in found["runs"]:
        for key in ("seconds", "first_seconds", "preparation_seconds"):
            del one[key]
    del found["machine"]["load before"]
    return found


def test_runs_say_the_same(scans: list[Path], places: list[str]) -> None:
    assert told(*scans, "--on", "ray://host:10001") == told(*scans)
    assert places == ["ray://host:10001"]


def test_random_inputs_are_the_same(places: list[str]) -> None:
    assert told("--seed", 7, "--on", "ray") == told("--seed", 7)


def test_outputs_are_written_here(scans: list[Path], places: list[str], tmp_path: Path) -> None:
    for folder, more in (("here", ()), ("there", ("--on", "ray"))):
        told(*scans[:3], "--output", tmp_path / folder, *more)
    here, there = (sorted((tmp_path / folder).iterdir()) for folder in ("here", "there"))
    assert [file.name for file in here] == [file.name for file in there]
    assert all(np.array_equal(np.load(one), np.load(other)) for one, other in zip(here, there, strict=True))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, places: list[str]) -> None:
    (tmp_path / "bad.npy").write_bytes(b"no array at all")
    result = call("run", MODEL, "--device", REFERENCE, tmp_path / "bad.npy", "--on", "ray")
    assert result.exit_code == 3
    assert "bad.npy for image" in result.output


def test_a_file_that_cannot_be_read_does_not_end_the_others_runs(
    scans: list[Path], tmp_path: Path, places: list[str]
) -> None:
    bad, log = tmp_path / "bad.npy", tmp_path / "log.jsonl"
    bad.write_bytes(b"no array at all")
    files = *scans[:3], bad, *scans[3:20]
    result = call("run", MODEL, "--device", REFERENCE, *files, "--on", "ray", "--jsonl", log)
    assert result.exit_code == 3
    assert f"1 of 21 runs failed; {log} has the reasons" in result.stderr
    found = [json.loads(line) for line in log.read_text().splitlines()]
    assert [Path(each["files"][0]).name for each in found] == [file.name for file in files]
    assert [index for index, each in enumerate(found) if "error" in each] == [3]
    assert found[3]["error"].startswith("bad.npy for image")


def test_threads_and_precision_reach_the_workers(
    scans: list[Path], places: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[dict[str, Any]] = []
    monkeypatch.setattr(
        predictor, "compile", lambda model, **options: (made.append(options), nnapi.compile(model, **options))[1]
    )
    found = told(scans[0], "--on", "ray", "--threads", 2, "--precision", "float16")
    assert found["runs"][0]["classes"]
    assert [(each["threads"], each["precision"]) for each in made] == [(2, "float16")]


def test_a_profile_stays_here(places: list[str]) -> None:
    result = call("run", MODEL, "--profile", "phone.toml", "--on", "ray")
    assert "--profile simulates a device on this machine, --on uses other machines" in result.output
    assert places == []


def test_accuracy_is_the_same(scans: list[Path], places: list[str], tmp_path: Path) -> None:
    found = []
    for more in ((), ("--on", "ray")):
        quick = "--only-latency", "--rounds", 1, "--against", "none", "--device", REFERENCE
        out = tmp_path / "out.json"
        result = call("bench", MODEL, "--dataset", scans[0].parents[1], *quick, "--output", out, *more)
        assert result.exit_code == 0, result.output
        found.append(json.loads(out.read_text())["models"][0]["measurements"][0]["accuracy"])
        out.unlink()
    assert found[0] == found[1]
    assert places == ["ray"]


def test_the_precision_of_a_row_is_that_of_its_accuracy(
    scans: list[Path], places: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    monkeypatch.setattr(
        predictor,
        "compile",
        lambda model, **options: (made.append(options["precision"]), nnapi.compile(model, **options))[1],
    )
    quick = "--only-latency", "--rounds", 1, "--against", "none", "--device", REFERENCE
    result = call(
        "bench", MODEL, "--dataset", scans[0].parents[1], *quick, "--on", "ray", "--precision", "float32,float16"
    )
    assert result.exit_code == 0, result.output
    assert made == ["float32", "float16"]


def test_without_a_data_set_there_is_nothing_to_spread(places: list[str]) -> None:
    result = call("bench", MODEL, "--on", "ray")
    assert "--on runs the examples of --dataset on a cluster" in result.output
    assert places == []


def test_each_example_is_told_of(scans: list[Path]) -> None:
    model, steps = nnapi.load(MODEL), list[str]()
    examples = [Example(file, int(file.parent.name)) for file in scans]
    found = make_cluster_judge(Cluster(FakeRay()), model, examples, steps.append)([REFERENCE], None)
    compilation = nnapi.compile(model, REFERENCE)
    assert found == make_judge(model, examples)(lambda inputs: compilation.run(*inputs))
    assert steps[-1] == "40 of 40 examples on the cluster"


def test_an_example_that_cannot_be_read_ends_the_judgement(tmp_path: Path) -> None:
    (tmp_path / "bad.npy").write_bytes(b"no array at all")
    judge_devices = make_cluster_judge(
        Cluster(FakeRay()), nnapi.load(MODEL), [Example(tmp_path / "bad.npy", 1)], lambda _: None
    )
    with pytest.raises(UnsuitableError, match=r"bad.npy for image"):
        judge_devices([REFERENCE], None)
