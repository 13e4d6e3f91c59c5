"""``nnapi golden``: the files, the table and its words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import nnapi
from nnapi.cli import app
from nnapi.model.operand import Array


def invoke(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["golden", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


def read_tensor(folder: Path, index: int) -> Array:
    with np.load(folder / "tensors.npz") as file:
        return file[f"t{index}"]


def test_the_table_and_the_files(tmp_path: Path) -> None:
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "older").write_text("x" * 10**6)
    code, out, _ = invoke("digits", "-o", tmp_path / "g")
    first, heads, *rows, last = out.splitlines()
    assert code == 0
    assert first == "digits: 7 operations, 7 of them in integers; TFLite Micro: 6 equal, 0 not, 1 not compared"
    assert heads.split() == [
        "#",
        "operation",
        "rule",
        "result",
        "channels",
        "sums",
        "from",
        "to",
        "bits",
        "TFLite",
        "Micro",
    ]
    assert rows[0].split()[:5] == ["0", "CONV_2D", "rescale", "t4", "16"]
    assert rows[0].split()[7:] == ["18", "equal"]
    assert rows[6].split(maxsplit=4) == [
        *("6", "SOFTMAX", "softmax", "t20"),
        "TFLite Micro computes exponentials with fewer bits",
    ]
    assert last.endswith("17 tensors in 40 files, 0.1 MB")
    assert {file.name for file in (tmp_path / "g").iterdir()} == {"c", "csv", "golden.json", "older", "tensors.npz"}


def test_the_table_counts_elements_in_which_tflite_micro_differs(tmp_path: Path) -> None:
    builder = nnapi.Builder("halves")
    row = builder.input(nnapi.tensor("quant8_asymm_signed", (1, 1), 1.0))
    weights = builder.constant(np.array([[-4], [4]], np.int8), nnapi.tensor("quant8_asymm_signed", (2, 1), 1 / 8))
    bias = builder.constant(np.zeros(2, np.int32), nnapi.tensor("int32", (2,), 1 / 8))
    builder.output(builder.fully_connected(row, weights, bias, scale=1.0))
    nnapi.export(builder.finish(), tmp_path / "halves.tflite")
    np.save(tmp_path / "x.npy", np.ones((1, 1), np.int8))
    code, out, _ = invoke(tmp_path / "halves.tflite", tmp_path / "x.npy", "-o", tmp_path / "g")
    assert code == 0
    assert "TFLite Micro: 0 equal, 1 not, 0 not compared" in out
    assert "1 element differs: TFLite Micro rounds halves below 0 down" in out


def test_json_is_that_of_the_file(tmp_path: Path) -> None:
    code, out, _ = invoke("digits", "-o", tmp_path, "--json")
    assert code == 0
    assert json.loads(out) == json.loads((tmp_path / "golden.json").read_text())
    assert list(json.loads(out)) == ["format", "version", "model", "inputs", "outputs", "tensors", "operations"]
    assert json.loads(out)["format"] == "nnapi-golden"


def test_inputs_are_files_or_follow_the_seed(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", image := np.full((1, 8, 8, 1), 5, np.int8))
    assert invoke("digits", tmp_path / "x.npy", "-o", tmp_path / "g")[0] == 0
    given = json.loads((tmp_path / "g" / "golden.json").read_text())["inputs"][0]
    assert np.array_equal(read_tensor(tmp_path / "g", given), image)
    for seed in (0, 1):
        invoke("digits", "-o", tmp_path / str(seed), "--seed", seed)
    first, second = (read_tensor(tmp_path / str(seed), given) for seed in (0, 1))
    assert not np.array_equal(first, second)


def test_two_files_for_one_input_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((1, 8, 8, 1), np.int8))
    code, _, err = invoke("digits", tmp_path / "x.npy", tmp_path / "x.npy", "-o", tmp_path / "g")
    assert (code, err) == (2, "nnapi: the model has one input, so give one file or none, not 2\n")
    assert not (tmp_path / "g").exists()


def test_a_folder_is_needed() -> None:
    code, _, err = invoke("digits")
    assert code == 2
    assert "--output" in err
