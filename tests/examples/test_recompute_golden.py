"""The example recomputes networks from golden files, without nnapi."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.cli.inputs import read_arrays
from nnapi.cli.printing import write_json
from nnapi.samples import find_sample
from nnapi.testing.golden.files import as_data, write_files
from nnapi.testing.golden.recording import record
from tests.testing.golden.golden_cases import CASES

PROGRAM = Path(__file__).parents[2] / "examples" / "recompute_golden.py"
NETWORKS = {
    "models/mobilenet_v1_0.25_128_quant": 31,
    "models/tflm_person_detect_int8": 31,
    "models/tiny_ad01_int8": 10,
    "models/tiny_kws_int8": 13,
    "models/tiny_resnet8_int8": 16,
    "models/tiny_streaming_wakeword_int8": 11,
    "models/tiny_vww_96_int8": 31,
    "models-2/blazeface_front_int8": 80,
}
"""Networks, with their numbers of operations."""
UNREAD = {"conv_2d as NCHW", "average_pool_2d as NCHW", "concatenation"}
"""Cases that the program does not recompute."""


def golden_of(model: nnapi.Model, folder: Path) -> Path:
    golden = record(model, read_arrays(model, [], 3))
    write_files(golden, folder)
    write_json(folder / "golden.json", "golden", as_data(golden))
    return folder


@pytest.fixture
def recompute(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[Path], list[str]]:
    """Run the program on a folder; return the lines that it prints, after a check of its exit code."""

    def run(folder: Path) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["recompute_golden.py", str(folder)])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(PROGRAM))
        lines = capsys.readouterr().out.splitlines()
        assert ended.value.code == any("differ" in line and ": 0 of " not in line for line in lines)
        return lines

    return run


Recompute = Callable[[Path], list[str]]


def test_it_recomputes_a_network(recompute: Recompute, tmp_path: Path) -> None:
    sample = find_sample("digits")
    assert sample is not None
    lines = recompute(golden_of(nnapi.load(sample), tmp_path))
    assert len(lines) == 7
    assert all(": 0 of " in line for line in lines)


@pytest.mark.parametrize("name", sorted(CASES.keys() - UNREAD))
def test_it_recomputes_an_operation(name: str, recompute: Recompute, tmp_path: Path) -> None:
    (line,) = recompute(golden_of(CASES[name], tmp_path))
    assert ": 0 of " in line


def test_it_names_what_it_does_not_recompute(recompute: Recompute, tmp_path: Path) -> None:
    (line,) = recompute(golden_of(CASES["concatenation"], tmp_path))
    assert line == "CONCATENATION (#0): not recomputed, as it is computed by the rule concatenate"


def test_it_finds_a_wrong_element(recompute: Recompute, tmp_path: Path) -> None:
    model = CASES["conv_2d"]
    golden_of(model, tmp_path)
    with np.load(tmp_path / "tensors.npz") as file:
        arrays = dict(file)
    arrays[f"t{model.outputs[0]}"].reshape(-1)[5] ^= 1
    np.savez(tmp_path / "tensors.npz", **arrays)
    assert recompute(tmp_path) == ["CONV_2D (#0): 1 of 72 elements differ"]


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_it_recomputes_shared_networks(name: str, recompute: Recompute, shared: Path, tmp_path: Path) -> None:
    lines = recompute(golden_of(nnapi.load(shared / f"{name}.tflite"), tmp_path))
    assert len(lines) == NETWORKS[name]
    assert all(": 0 of " in line for line in lines)
