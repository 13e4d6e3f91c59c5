"""The page about WebNN's operators: a row for each, and the reasons of refusals."""

from pathlib import Path

import pytest

pytest.importorskip("onnx", reason="onnx is not installed")

from benchmarks.webnn import find_operations, page
from nnapi.testing.suite.result import Result, Status
from nnapi.testing.webnn.cases import read_cases
from tests.testing.webnn.webnn_cases import described, tensor, write_tests

NAMES = {"neg": ["NEG"], "gruCell": []}


def test_a_row_for_each_operator(tmp_path: Path) -> None:
    x = {"x": tensor([1, -2], 2)}
    write_tests(tmp_path / "tests.json", *(described(name, x, {"input": "x"}, tensor([-1, 2], 2)) for name in NAMES))
    cases = read_cases(tmp_path)
    assert {case.operator: find_operations(case) for case in cases} == NAMES
    results = [
        Result("", "a", ("neg",), "", Status.PASSED, outcome="bit-equal"),
        Result("", "b", ("gruCell",), "", Status.SKIPPED, "no rule converts gruCell", outcome="refused"),
    ]
    text = page(cases, results, results)
    assert "| neg | 1 | 1 |  |  | 1 |  |  | NEG |" in text
    assert "| gruCell | 1 |  |  | 1 |  |  | 1 |  |" in text
    assert "Of 2 tests, 0 are wrong on `nnapi-reference` and 0 on default devices." in text
    assert "- gruCell: no rule converts gruCell (1)" in text
