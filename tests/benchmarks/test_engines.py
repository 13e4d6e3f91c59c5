"""The comparison of engines measures what it says, and names what is slow, far away or impossible."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import engines
from nnapi.model.operand import tensor

pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
pytestmark = pytest.mark.engine
REPOSITORY = Path(__file__).parents[2]


def test_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    output = tmp_path / "times.json"
    options = ["--devices", "nnapi-reference", "--threads", "1", "--seconds", "0.02", "--only", "quant"]
    folder = str(REPOSITORY / "examples" / "digits")
    monkeypatch.setattr(sys, "argv", ["engines.py", folder, *options, "--json", str(output)])
    engines.main()
    found = json.loads(output.read_text())
    (row,) = found["rows"]
    assert (row["model"], row["devices"], row["reasons"]) == ("digits_quant", ["nnapi-reference"], {})
    assert list(found["versions"]) == list(row["engines"]) == ["nnapi nnapi-reference", "litert"]
    for figures in row["engines"].values():
        assert 0 < figures["minimum"] <= figures["median"]
        assert figures["runs"] >= engines.TURNS
    minimum = [figures["minimum"] for figures in row["engines"].values()]
    assert row["ratio"] == row["ratio_litert"] == minimum[1] / minimum[0]
    assert f"{row['ratio']:.3f} (1)" in capsys.readouterr().out


def test_engines_take_turns_in_changing_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "TURN", 0)
    called: list[str] = []
    runs = {name: lambda _, name=name: called.append(name) for name in "ab"}
    times = engines.measure(runs, [], 0)
    assert "".join(called) == "aabb" + "bbaa" + "aabb"  # once to warm up, once timed
    assert [len(found) for found in times.values()] == [3, 3]


def test_ratios_are_to_the_best_and_to_litert() -> None:
    found = engines._ratios({"ours": 2.0, "litert": 6.0, "openvino": 3.0}, "ours")
    assert found == {"best": "openvino", "ratio": 1.5, "ratio_litert": 3.0}
    assert engines._ratios({"ours": 2.0, "openvino": 3.0}, "ours") == {"best": "openvino", "ratio": 1.5}
    assert engines._ratios({"litert": 6.0}, "ours") == {}
    assert engines._ratios({"ours": 6.0}, "ours") == {}
    assert engines.mean([0.5, 2.0, 8.0]) == "2.000 (3)"


def test_distance_is_a_share_of_the_range() -> None:
    theirs = [np.uint8([0, 200]), np.float32([[1], [3]])]
    assert engines.apart([np.uint8([0, 200]), np.float32([1, 3])], theirs) == 0
    assert engines.apart([np.uint8([10, 200]), np.float32([1, 4.5])], theirs) == 0.5
    assert engines.apart([np.float32([5])], [np.float32([4])]) == 0.25
    assert engines.apart([np.uint8([10]), np.float32([1, 3])], theirs) == math.inf
    assert engines.apart([np.uint8([0, 200])], theirs) == math.inf


def test_remarks() -> None:
    row = {
        "model": "m",
        "threads": 2,
        "best": "litert",
        "ratio": 0.9,
        "reasons": {"openvino": "no reader"},
        "engines": {"ours": {"apart": 0.2}, "litert": {"apart": 0}, "other": {"apart": None}},
    }
    fine = row | {"threads": 1, "ratio": 0.96, "engines": {}}
    assert list(engines.remarks([fine, row])) == [
        "below 0.95: m, 2 threads: 0.90 of litert",
        "far from LiteRT: m, 2 threads: ours by 0.2 of the range",
        "not run: m on openvino: no reader",
    ]


@pytest.mark.parametrize("kind", ["float32", "uint8", "int8", "int32", "bool8"])
def test_inputs_are_within_what_a_model_may_be_given(kind: str) -> None:
    type = tensor(kind, (0, 1000), *((0.5, 3) if kind in ("uint8", "int8") else ()))
    values = engines._random(type, np.random.default_rng(0))
    assert (values.shape, values.dtype) == ((1, 1000), type.dtype)
    low, high = {"float32": (-1, 1), "uint8": (0, 255), "int8": (-128, 127), "int32": (0, 99), "bool8": (0, 1)}[kind]
    assert low <= values.min() < values.max() <= high
    assert float(values.max()) - float(values.min()) >= 0.9 * (high - low)


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "text.tflite"
    path.write_text("no model")
    ours = engines.Nnapi("nnapi.importers:load", ("nnapi-reference",))
    row = engines.row(path, 1, ours, [engines.OTHERS["litert"]], 0)
    assert row["engines"] == {}
    assert "no model that can be read" in row["reasons"][ours.name]
    assert list(engines.remarks([row])) == [f"not run: text on {ours.name}: {row['reasons'][ours.name]}"]
