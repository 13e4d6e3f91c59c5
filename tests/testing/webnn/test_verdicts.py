"""Verdicts on tests of WebNN operators: the conversion, the run and the tolerances."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi.importers import load
from nnapi.operation_codes import NAMES
from nnapi.testing.suite.result import Result
from nnapi.testing.webnn.cases import Case, read_cases
from nnapi.testing.webnn.conversion import UnmappedError, convert
from nnapi.testing.webnn.tolerances import FAR, ulp_distance
from nnapi.testing.webnn.verdicts import WebnnVerdict, check
from tests.testing.webnn.webnn_cases import described, tensor, write_tests

pytest.importorskip("onnx")

REFERENCE = ["nnapi-reference"]


def judge(tmp_path: Path, *test: Any) -> Result:
    (case,) = read_cases(write_tests(tmp_path / "test.json", described(*test)))
    return check(case, REFERENCE)


X = {"x": tensor([1, -2, 3, -4], 2, 2)}
UNSIGNED = {"x": tensor([2**32 - 1, 3], 2, type="uint32")}
EXAMPLES = [
    ("abs", X, {"input": "x"}, tensor([1, 2, 3, 4], 2, 2)),
    ("reduceSum", X, {"input": "x", "options": {"axes": [1]}}, tensor([-1, -1], 2)),
    ("reduceSumSquare", X, {"input": "x"}, tensor(30)),
    ("transpose", X, {"input": "x"}, tensor([1, 3, -2, -4], 2, 2)),
    ("greater", {**X, "z": tensor([0], 1)}, {"a": "x", "b": "z"}, tensor([1, 0, 1, 0], 2, 2, type="uint8")),
    ("clamp", X, {"input": "x", "options": {"minValue": "Infinity"}}, tensor("Infinity", 2, 2)),
    ("clamp", X, {"input": "x", "options": {"maxValue": "-Infinity"}}, tensor("-Infinity", 2, 2)),
    ("linear", X, {"input": "x", "options": {"alpha": 2, "beta": 1}}, tensor([3, -3, 7, -7], 2, 2)),
    ("slice", X, {"input": "x", "starts": [0, 1], "sizes": [2, 1]}, tensor([-2, -4], 2, 1)),
    (
        "gather",
        {**X, "i": tensor([5], 1, type="int32")},
        {"input": "x", "indices": "i", "options": {"axis": 1}},
        tensor([-2, -4], 2, 1),
    ),
    (
        "layerNormalization",
        {**X, "b": tensor([7, 8], 2)},
        {"input": "x", "options": {"axes": [1], "bias": "b", "epsilon": 0}},
        tensor([8, 7, 8, 7], 2, 2),
    ),
    (
        "batchNormalization",
        {**X, "m": tensor([1, 0], 2), "v": tensor([4, 16], 2), "s": tensor([2, 3], 2)},
        {"input": "x", "mean": "m", "variance": "v", "options": {"scale": "s", "epsilon": 0}},
        tensor([0, -1.5, 2, -3], 2, 2),
    ),
    (
        "conv2d",
        {"x": tensor([1, 2, 3, 4], 1, 2, 2, 1), "w": tensor([1, 10], 1, 2, 1, 1, constant=True)},
        {"input": "x", "filter": "w", "options": {"inputLayout": "nhwc", "filterLayout": "hwio"}},
        tensor([21, 43], 1, 2, 1, 1),
    ),
]


@pytest.mark.parametrize("test", EXAMPLES, ids=lambda test: test[0])
def test_right_results(test: Any, tmp_path: Path) -> None:
    result = judge(tmp_path, *test)
    assert (result.outcome, result.reason) in ((WebnnVerdict.EQUAL, ""), (WebnnVerdict.CLOSE, ""))


def test_a_wrong_result_is_found(tmp_path: Path) -> None:
    result = judge(tmp_path, "abs", X, {"input": "x"}, tensor([1, 2, 3, 4.000001], 2, 2))
    assert (result.outcome, result.reason) == (WebnnVerdict.WRONG, "y: 2 ULP off, 0 allowed")


def test_a_tolerance_counts_the_summands(tmp_path: Path) -> None:
    close = tensor(float(np.nextafter(np.float32(30), np.float32(31))))
    assert judge(tmp_path, "reduceSumSquare", X, {"input": "x"}, close).outcome == WebnnVerdict.CLOSE
    assert judge(tmp_path, "tanh", X, {"input": "x"}, tensor([0.7616, -0.9640, 0.9951, -0.9993], 2, 2)).reason == ""


def test_a_value_beyond_int32_is_refused_by_its_name(tmp_path: Path) -> None:
    result = judge(tmp_path, "abs", UNSIGNED, {"input": "x"}, tensor([0, 3], 2, type="uint32"))
    assert (result.outcome, result.reason) == (WebnnVerdict.REFUSED, "x holds uint32 values beyond int32")


def test_an_operator_without_rule_is_refused(tmp_path: Path) -> None:
    result = judge(tmp_path, "gruCell", X, {"input": "x"}, tensor(0))
    assert (result.outcome, result.reason) == (WebnnVerdict.REFUSED, "no rule converts gruCell")
    (case,) = read_cases(tmp_path)
    with pytest.raises(UnmappedError):
        convert(case)


def test_a_test_of_constants_only_is_computed_by_the_device(tmp_path: Path) -> None:
    constant = {"x": tensor([1, -2], 2, constant=True)}
    result = judge(tmp_path, "neg", constant, {"input": "x"}, tensor([-1, 2], 2))
    assert result.outcome == WebnnVerdict.EQUAL
    (case,) = read_cases(tmp_path)
    assert [NAMES[operation.code] for operation in load(convert(case).model()).operations] == ["NEG"]


def test_distances() -> None:
    one = np.array([1, 0, np.nan, np.inf], np.float32)
    assert ulp_distance(one, one) == 0
    assert ulp_distance(np.array([-1e-45], np.float32), np.array([1e-45], np.float32)) == 2
    assert ulp_distance(np.array([1], np.float32), np.array([np.nan], np.float32)) == FAR
    assert ulp_distance(np.array([-6], np.int32), np.array([2**32 - 6], np.uint32)) == 2**32


def kind_of(case: Case) -> object:
    """The operator of a test, the names of its options, the types of its tensors, and whether some are constants."""
    types = {each.dtype for each in (*case.inputs.values(), *case.outputs.values())}
    return case.operator, frozenset(case.options), frozenset(types), bool(case.constants)


@pytest.mark.slow
@pytest.mark.shared
def test_no_test_of_the_w3c_is_wrong_on_the_reference(shared: Path) -> None:
    """One test of each kind; ``python -m benchmarks.webnn`` runs all."""
    folder = shared / "w3c"
    if not folder.is_dir():
        pytest.skip(f"needs the W3C's tests of WebNN in {folder}")
    cases = {kind_of(case): case for case in read_cases(folder)}
    results = [check(case, REFERENCE) for case in cases.values()]
    assert len(results) > 400
    assert [(each.example, each.reason) for each in results if each.outcome == WebnnVerdict.WRONG] == []
