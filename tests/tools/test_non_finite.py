"""Results of devices on NaN and infinities, and the page that lists them."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi.errors import NnapiError
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import CODES
from nnapi.runtime.device import Device, device
from tests.rows import each_row
from tools import non_finite
from tools.non_finite import Seen, cells, describe_makers, float_operations, observe

PAGE = Path(__file__).resolve().parents[2] / "docs" / "non-finite.md"
SAMPLE = [
    "ADD",
    "ARGMAX",
    "AVERAGE_POOL_2D",
    "BATCH_MATMUL",
    "CONV_2D",
    "DIV",
    "EXP",
    "FULLY_CONNECTED",
    "GREATER",
    "LOG",
    "LOGISTIC",
    "LSTM",
    "MAXIMUM",
    "MINIMUM",
    "MUL",
    "NOT_EQUAL",
    "PAD",
    "RELU",
    "REDUCE_SUM",
    "RSQRT",
    "SOFTMAX",
    "SQRT",
    "SUB",
    "TANH",
    "TRANSPOSE",
]
"""Operations that are looked at in each run of the tests; all of them take minutes."""
HANDED_ON = ["NEG", "RESHAPE", "TRANSPOSE", "BATCH_MATMUL", "REDUCE_SUM", "CHANNEL_SHUFFLE"]
"""Operations without an activation, in which no processor loses a NaN."""
AGAIN = "run: python -m tools.non_finite > docs/non-finite.md"


@cache
def committed() -> Any:
    """The cells of each operation, by device."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().splitlines()
        if line[:1] == "|"
    ]
    header = next(row for row in rows if row[0] == "operation")
    names = [cell.split(":")[0] for cell in header[1::2]]
    table = rows[rows.index(header) + 2 :]
    name_of = re.compile(r"\[(\w+)\]\((?:operations|composites)\.md#\w+\)")
    return {
        name_of.fullmatch(row[0])[1]: {one: row[1 + 2 * i : 3 + 2 * i] for i, one in enumerate(names)} for row in table
    }


@cache
def engine(name: Any) -> Any:
    """The device, whatever the tests' environment hides."""
    if name == "xnnpack-cpu":
        pytest.importorskip("ai_edge_litert", reason="LiteRT has no wheel for this platform")
        from nnapi.drivers.xnnpack import XnnpackDriver

        return Device(XnnpackDriver())
    pytest.importorskip("openvino", reason="OpenVINO is not installed")
    from nnapi.drivers.openvino import OpenVinoDriver

    return Device(OpenVinoDriver())


def operation(name: str) -> Any:
    return REGISTRY[CODES[name]]


def test_every_float_operation_has_a_row() -> None:
    assert list(committed()) == [operation.name for operation in float_operations()]
    assert {"ADD", "LSTM", "SOFTMAX", "CAST"} <= committed().keys()
    assert committed().keys().isdisjoint({"LOGICAL_AND", "IF", "WHILE", "QUANTIZED_LSTM"})


@each_row("name", SAMPLE)
def test_the_page_says_what_the_reference_does(name: str) -> None:
    assert committed()[name]["nnapi-reference"] == cells(operation(name), device("nnapi-reference")), AGAIN


@pytest.mark.engine
@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.parametrize("one", ["xnnpack-cpu", "openvino-cpu"])
def test_the_page_says_what_engines_do(one: str, name: str) -> None:
    """Where the page was made by this engine on a processor like this one; elsewhere it need not be true."""
    own = describe_makers({one: engine(one)})
    engine_said, _, processor = own.removeprefix("The table was made with ").partition(" on ")
    text = " ".join(PAGE.read_text().split())
    if engine_said not in text or f"on {processor}." not in text:
        pytest.skip(f"the page was made on another processor or by another engine than {own}")
    assert committed()[name][one] == cells(operation(name), engine(one)), AGAIN


@pytest.mark.engine
@pytest.mark.parametrize("name", HANDED_ON)
@pytest.mark.parametrize("one", ["xnnpack-cpu", "openvino-cpu"])
def test_no_processor_loses_a_nan_in_arithmetic(one: str, name: str) -> None:
    nans, _ = observe(operation(name), engine(one))
    assert nans == {Seen.NAN}


def test_comparisons_of_a_nan_are_false() -> None:
    assert observe(operation("GREATER"), device("nnapi-reference"))[0] == {Seen.FALSE}
    assert observe(operation("NOT_EQUAL"), device("nnapi-reference"))[0] == {Seen.TRUE}


@pytest.mark.parametrize(
    ("outputs", "said"),
    [([[1.0, np.nan, np.inf]], "NaN"), ([[1.0], [-np.inf]], "inf"), ([[1.0, 3e38]], "number")],
)
def test_what_is_said_of_outputs(outputs: list[Any], said: str) -> None:
    assert non_finite._classify([np.array(output, np.float32) for output in outputs], False) == {said}
    assert non_finite._classify([np.array([1], np.int32)], False) == {"number"}
    assert non_finite._classify([np.array([True, False])], True) == {"true", "false"}


def test_a_device_that_is_not_there_leaves_its_cells_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: Any) -> None:
        raise NnapiError(name)

    monkeypatch.setattr(non_finite, "device", none)
    assert set(non_finite.find_devices().values()) == {None}
    assert cells(operation("ADD"), None) == ["", ""]
