"""Golden files: .npz, .csv, JSON and C headers have the same values."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nnapi.model.builder import Builder
from nnapi.model.operand import tensor
from nnapi.testing.golden.c_headers import describe_tensor
from nnapi.testing.golden.files import as_data, write_files
from nnapi.testing.golden.recording import Golden, Tensor, record
from tests.testing.golden.golden_cases import CASES, draw


def recorded(name: str) -> Golden:
    model = CASES[name]
    return record(model, [draw(model.operands[index].type, 7) for index in model.inputs])


def read_table(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


@pytest.mark.parametrize("name", ["conv_2d", "dequantize", "transpose"])
def test_tensors_are_equal_in_all_formats(name: str, tmp_path: Path) -> None:
    golden = recorded(name)
    write_files(golden, tmp_path / "new" / "folder")
    with np.load(tmp_path / "new" / "folder" / "tensors.npz") as file:
        arrays = dict(file)
    assert set(arrays) == {f"t{each.index}" for each in golden.tensors}
    for each in golden.tensors:
        stored = arrays[f"t{each.index}"]
        assert stored.dtype == each.array.dtype
        assert np.array_equal(stored, each.array)
        rows = np.loadtxt(tmp_path / "new" / "folder" / "csv" / f"t{each.index}.csv", delimiter=",", ndmin=2)
        assert np.array_equal(rows.reshape(stored.shape).astype(stored.dtype), stored)
        assert rows.shape[-1] == stored.shape[-1]


def test_tables_have_a_row_for_each_tensor_operation_and_channel(tmp_path: Path) -> None:
    golden = recorded("conv_2d")
    write_files(golden, tmp_path)
    found = golden.operations[0].arithmetic.integers
    (operation,) = read_table(tmp_path / "csv" / "operations.csv")
    names = {name: f"t{indices[0]}" for name, indices in golden.operations[0].inputs.items()}
    assert operation == {
        "number": "0",
        "operation": "CONV_2D",
        "rule": "rescale",
        "inputs": " ".join(f"{name}={index}" for name, index in names.items()),
        "outputs": f"t{golden.outputs[0]}",
        "activation": "",
        "out_zero_point": "-5",
        "low": "-128",
        "high": "127",
        "accumulator_bits": str(found["accumulator_bits"]),
        "tflite_micro_differing": "0",
        "tflite_micro_reason": "",
    }
    channels = read_table(tmp_path / "csv" / "channels.csv")
    assert [row["channel"] for row in channels] == ["0", "1", "2", "3"]
    for name in ("multiplier", "shift", "accumulator_low", "accumulator_high"):
        assert [int(row[name]) for row in channels] == found[name].tolist()
    tensors = read_table(tmp_path / "csv" / "tensors.csv")
    assert [row["layout"] for row in tensors] == ["OHWI", "", "NHWC", "NHWC"]
    assert [row["shape"] for row in tensors][-1] == "[1, 3, 6, 4]"


def test_only_multipliers_of_tables_have_channels(tmp_path: Path) -> None:
    write_files(recorded("logistic"), tmp_path)
    assert read_table(tmp_path / "csv" / "channels.csv") == []
    (operation,) = read_table(tmp_path / "csv" / "operations.csv")
    assert (operation["low"], operation["tflite_micro_differing"]) == ("", "")


def test_json_has_all_but_the_elements() -> None:
    golden = recorded("depthwise_conv_2d")
    data = json.loads(json.dumps(as_data(golden)))
    (operation,) = data["operations"]
    assert operation["settings"]["depth_multiplier"] == 2
    assert operation["integers"]["multiplier"] == golden.operations[0].arithmetic.integers["multiplier"].tolist()
    assert operation["tflite_micro"] == {"differing": 0, "reason": ""}
    filter = next(each for each in data["tensors"] if each["layout"] == "1HWO")
    assert (filter["channel_axis"], len(filter["channel_scales"])) == (3, 6)
    values = next(each.array for each in golden.tensors if each.index == filter["index"])
    assert (filter["lowest"], filter["highest"]) == (values.min(), values.max())
    image = data["tensors"][-1]
    assert (image["scale"], image["zero_point"], image["channel_axis"]) == (float(np.float32(0.11)), -5, None)


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_a_c_program_includes_the_headers(tmp_path: Path) -> None:
    golden = recorded("depthwise_conv_2d")
    write_files(golden, tmp_path)
    (tmp_path / "main.c").write_text(
        """#include <stdio.h>
#include "c/golden.h"
int main(void) {
  printf("%d %d %d %d\\n", op0_depth_multiplier, op0_multiplier[5], op0_shift[5], op0_accumulator_low[5]);
  for (unsigned i = 0; i < sizeof OUT / sizeof *OUT; i++) printf("%d ", OUT[i]);
}
""".replace("OUT", f"t{golden.outputs[0]}")
    )
    command = ["gcc", "-Wall", "-Wextra", "-Werror", "main.c", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    first, rest = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout.split("\n")
    found = golden.operations[0].arithmetic.integers
    assert list(map(int, first.split())) == [
        2,
        *(found[name][5] for name in ("multiplier", "shift", "accumulator_low")),
    ]
    assert list(map(int, rest.split())) == golden.tensors[-1].array.reshape(-1).tolist()


def test_elements_in_c() -> None:
    def define(array: np.ndarray, name: str = "") -> str:
        builder = Builder("any")
        builder.input(type := tensor("float32", array.shape))
        lifetime = builder.model.operands[0].lifetime
        return describe_tensor("t0", Tensor(0, name, lifetime, type, array)).partition("<stdint.h>\n")[2]

    floats = define(np.array([0.1, -np.inf, np.nan, np.inf], np.float32))
    assert floats == "static const float t0[4] = {\n0x1.99999a0000000p-4f, -INFINITY, NAN, INFINITY\n};\n"
    assert define(np.array([1.0], np.float16)) == "static const uint16_t t0[1] = {\n15360\n};\n"
    assert define(np.array([True])) == "static const uint8_t t0[1] = {\n1\n};\n"
    assert define(np.array([2**40])) == f"static const int64_t t0[1] = {{\n{2**40}\n}};\n"
    assert define(np.array([2**20])) == f"static const int32_t t0[1] = {{\n{2**20}\n}};\n"
    assert define(np.zeros(0, np.int8)) == "static const int8_t t0[1] = {\n0\n};\n"
    wide = define(np.arange(1000, dtype=np.int32))
    assert max(map(len, wide.splitlines())) <= 120


def test_a_name_cannot_end_its_comment() -> None:
    array = np.zeros(1, np.float32)
    builder = Builder("any")
    builder.input(type := tensor("float32", (1,)))
    text = describe_tensor("t0", Tensor(0, "a */ int x;\n/*", builder.model.operands[0].lifetime, type, array))
    assert text.startswith("/* a * / int x; /*: TENSOR_FLOAT32 [1], temporary */\n#pragma once\n")
