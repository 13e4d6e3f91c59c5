"""The reader of the W3C's tests, and the layouts of the operators."""

from pathlib import Path

import numpy as np
import pytest

from nnapi.testing.webnn.cases import CaseFileError, is_webnn, read_cases, read_tensor
from nnapi.testing.webnn.layouts import filter_layout, input_layout, reduced_axes
from tests.testing.webnn.webnn_cases import described, tensor, write_tests


def test_a_file_holds_operators_with_inputs_constants_and_results(tmp_path: Path) -> None:
    inputs = {"x": tensor([1, -2], 2), "z": tensor([3], 1, constant=True)}
    path = write_tests(tmp_path / "sub.json", described("sub", inputs, {"a": "x", "b": "z"}, tensor([-2, -5], 2)))
    (case,) = read_cases(tmp_path)
    assert (case.file, case.operator, case.arguments, case.constants) == (path.name, "sub", {"a": "x", "b": "z"}, {"z"})
    assert case.inputs["x"].tolist() == [1, -2]
    assert case.outputs["y"].dtype == np.float32
    assert is_webnn(tmp_path)
    assert is_webnn(path)


def test_numbers_are_read_exactly() -> None:
    assert read_tensor(tensor(["9223372036854775807n", "-5"], 2, type="int64")).tolist() == [2**63 - 1, -5]
    assert read_tensor(tensor(["18446744073709551615n"], 1, type="uint64")).tolist() == [2**64 - 1]
    found = read_tensor(tensor(["Infinity", "-Infinity", "NaN", 0.1], 4, type="float16"))
    np.testing.assert_array_equal(found, np.array([np.inf, -np.inf, np.nan, 0.1], np.float16))


def test_one_number_fills_a_tensor_and_a_scalar_has_no_dimensions() -> None:
    assert read_tensor(tensor(7, 2, 2, type="int32")).tolist() == [[7, 7], [7, 7]]
    assert read_tensor(tensor([2.5])).shape == ()


@pytest.mark.parametrize("text", ["{", "[]", '{"tests": [{"name": "x"}]}', '{"tests": 3}', '{"tests": []}'])
def test_a_damaged_file_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "damaged.json"
    path.write_text(text)
    with pytest.raises(CaseFileError, match="damaged.json"):
        read_cases(path)


def test_layouts_have_the_defaults_of_webnn(tmp_path: Path) -> None:
    inputs = {"x": tensor(1, 1, 1, 2, 2), "w": tensor(1, 1, 1, 1, 1)}
    tests = [
        described(operator, inputs, {"input": "x", "filter": "w", "options": options}, tensor(1, 1, 1, 2, 2))
        for operator, options in (("conv2d", {}), ("convTranspose2d", {}), ("conv2d", {"filterLayout": "hwio"}))
    ]
    cases = read_cases(write_tests(tmp_path / "conv2d.json", *tests))
    assert [filter_layout(case) for case in cases] == ["oihw", "iohw", "hwio"]
    assert [input_layout(case) for case in cases] == ["nchw"] * 3
    assert reduced_axes(cases[0]) == [0, 1, 2, 3]
