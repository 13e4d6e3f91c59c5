"""Questions and answers of drivers survive the conversion to plain values and JSON."""

import json
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, DeviceTypeCode, Model, OperandCode, OperationCode, PreferenceCode, PriorityCode, tensor
from nnapi.contract.driver import Capabilities, DeviceInfo, LoopTimeoutError, Performance, PrepareOptions, Verdict
from nnapi.contract.workload import find_work
from nnapi.drivers.isolated import plain_values
from nnapi.errors import DeadObjectError, MissedDeadlineTransientError, OpFailedError, OutOfMemoryError
from nnapi.model.content_hash import hash_content
from nnapi.model.extension import EXTENSIONS, Extension, ExtensionType
from nnapi.model.memory import view_bytes
from nnapi.model.operand import ChannelQuantization, OperandType
from nnapi.model.precision import Precision
from nnapi.trace import Span
from nnapi.trace.labels import parse_label


def sent(what: Any) -> Any:
    return json.loads(json.dumps(what))


def test_who_a_device_is() -> None:
    extension = Extension("com.example.test", {3: ExtensionType(8, False), 1: ExtensionType(2)})
    info = DeviceInfo("a", "1.5", DeviceTypeCode.DEVICE_GPU, 7, (extension,))
    greeting = plain_values.Greeting(info, Capabilities(), True, False)
    assert plain_values.to_greeting(sent(plain_values.of_value(greeting))) == greeting
    with pytest.raises(ValueError, match="feature level 9"):
        plain_values.to_greeting(sent(plain_values.of_value(greeting._replace(info=info._replace(feature_level=9)))))


def test_what_a_device_declares() -> None:
    by_type = {OperandCode.TENSOR_INT32: Performance(2.0, 3.0)}
    declared = Capabilities(Performance(0.5, 1), by_type, Performance(4, 5), Performance(6, 7), Performance(8, 9), 1, 2)  # type: ignore[arg-type]
    assert plain_values.to_value(Capabilities, sent(plain_values.of_value(declared))) == declared


def test_options() -> None:
    attributes = (("com.example.test", 7, b"\0\xff"),)
    options = PrepareOptions(PreferenceCode.PREFER_LOW_POWER, PriorityCode.PRIORITY_HIGH, 2**60, 3, attributes)
    for each in (options, PrepareOptions()):
        assert plain_values.to_value(PrepareOptions, sent(plain_values.of_value(each))) == each


@pytest.mark.parametrize("values", [[1], 5, None, [1, 100, None, None, [["a", 1, "no bytes"]], ""], {}])
def test_values_that_are_not_options(values: Any) -> None:
    with pytest.raises(plain_values.WRONG):
        plain_values.to_value(PrepareOptions, values)


@pytest.mark.parametrize("kind", [DeadObjectError, LoopTimeoutError, MissedDeadlineTransientError, OpFailedError])
def test_errors(kind: type[Exception]) -> None:
    found = plain_values.to_error(sent(plain_values.of_error(kind("a message"), "the driver")))
    assert type(found) is kind
    assert str(found) == "a message"


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (MemoryError("much"), OutOfMemoryError, "who: no memory left: much"),
        (ZeroDivisionError("a mistake"), OpFailedError, "who failed: ZeroDivisionError: a mistake"),
    ],
)
def test_what_is_no_error_of_ours(error: Exception, kind: type[Exception], message: str) -> None:
    values = plain_values.of_error(error, "who")
    assert values == [int(kind.code), message, False]  # type: ignore[attr-defined]
    found = plain_values.to_error(sent(values))
    assert (type(found), str(found)) == (kind, message)


def back(model: Model) -> Model:
    described, arrays = plain_values.of_model(model)
    flat = [view_bytes(array) for array in arrays]
    for array in flat:
        array.flags.writeable = False
    return plain_values.to_model(sent(described), flat.__getitem__)


def convolution() -> Model:
    b = Builder("convolution")
    x = b.input(tensor("int8", (1, 4, 4, 2), 0.5, -3))
    filters = tensor("quant8_symm_per_channel", (2, 1, 1, 2), channel=ChannelQuantization(0, (0.1, 0.25)))
    weights = b.constant(np.array([[[[1, 2]]], [[[3, -4]]]], np.int8), filters)
    bias = b.constant(np.array([7, 8], np.int32), tensor("int32", (2,)))
    b.output(b.conv_2d(x, weights, bias, 0, 0, 0, 0, 1, 1, scale=1.0, zero_point=0))
    return b.finish()


def conditional() -> Model:
    def branch(name: str) -> Model:
        b = Builder(name)
        x = b.input(tensor("float32", (2,)))
        b.output(getattr(b, name)(x))
        return b.finish()

    b = Builder("conditional")
    condition, x = b.input(tensor("bool8", (1,))), b.input(tensor("float32", (2,)))
    b.output(*b.if_(condition, branch("abs"), branch("neg"), x))
    b.model.relax_computation_float32_to_float16(True)
    b.model.permit_dynamic_range(True)
    b.model.permit_rounded_states(True)
    return b.finish()


def extended() -> Model:
    EXTENSIONS.describe("a device", Extension("com.example.values", {5: ExtensionType(3)}))
    model = Model("extended")
    type = OperandType(EXTENSIONS.type("com.example.values", 5), (2,))
    x, y = model.add_operand(type, "x"), model.add_operand(type, "y")
    model.set_operand_extension_data(x, b"parameters")
    model.add_operation(EXTENSIONS.type("com.example.values", 9), [x], [y])
    model.identify_inputs_and_outputs([x], [y])
    model.finish()
    return model


def without_inputs() -> Model:
    """Values that only a part of a plan can have."""
    model = Model("part")
    x, y = (model.add_operand(tensor("float32", (2,))) for _ in range(2))
    model.set_operand_value(x, np.array([1, -2], np.float32))
    model.add_operation(OperationCode.ABS, [x], [y])
    model.assign_roles([], [y])
    model.freeze()
    return model


@pytest.mark.parametrize("make", [convolution, conditional, extended, without_inputs])
def test_models(make: Any) -> None:
    model = make()
    again = back(model)
    assert hash_content(again) == hash_content(model)
    assert again.name == model.name
    assert [operand.name for operand in again.operands] == [operand.name for operand in model.operands]


@pytest.mark.parametrize("precision", Precision)
def test_precision_is_a_member(precision: Precision) -> None:
    """Drivers look it up in tables and compare it by identity."""
    model = Model("precise")
    model.permit_precision(precision)
    x, y = model.add_operand(tensor("float32", (1,))), model.add_operand(tensor("float32", (1,)))
    model.add_operation(OperationCode.ABS, [x], [y])
    model.identify_inputs_and_outputs([x], [y])
    model.finish()
    assert back(model).precision is precision


def test_verdicts_belong_to_the_numbers_of_operations() -> None:
    model = convolution()
    for verdict in Verdict(False, "for a reason"), Verdict(True, parts=(find_work(model, model.operations[0]),)):
        assert plain_values.to_verdicts(model, sent(plain_values.of_verdicts(model, [verdict]))) == [verdict]
    with pytest.raises(plain_values.WRONG):
        plain_values.to_verdicts(model, [])


def test_an_extension_that_this_process_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is described as in the application, once: the first of several applications' descriptions holds."""
    described, arrays = plain_values.of_model(extended())
    assert described["extensions"] == [["com.example.values", [[5, [3, True]]]]]
    monkeypatch.setattr(EXTENSIONS, "_described", {})
    monkeypatch.setattr(EXTENSIONS, "_disputed", {})
    for size in (3, 4):
        described["extensions"][0][1][0][1][0] = size
        made = plain_values.to_model(sent(described), arrays.__getitem__)
        assert made.operands[0].value is None
        assert EXTENSIONS.find("com.example.values") == Extension("com.example.values", {5: ExtensionType(3, True)})
    assert EXTENSIONS._described["com.example.values"][0] == "the application"
    assert EXTENSIONS._disputed == {}


@pytest.mark.parametrize("level", [1, 8])
def test_feature_levels(level: int) -> None:
    info = DeviceInfo("a", "1", DeviceTypeCode.DEVICE_CPU, level)
    greeting = plain_values.Greeting(info, Capabilities(), False, True)
    assert plain_values.to_greeting(sent(plain_values.of_value(greeting))) == greeting
    with pytest.raises(ValueError, match="feature level 0"):
        plain_values.to_greeting(sent(plain_values.of_value(greeting._replace(info=info._replace(feature_level=0)))))


def test_spans() -> None:
    span = Span(parse_label("[NN_LD_PE]run"), 10, 20, 3, 7, "worker", {"operations": [1]}, 2)
    values = plain_values.of_span(span)
    assert values == ["[NN_LD_PE]run", 10, 20, 7, "worker", {"operations": [1]}, 2]
    assert plain_values.to_span(sent(values), 99) == span._replace(process=99)


def test_the_bytes_of_an_array() -> None:
    array = np.array([[1, 2], [3, 4]], np.int16)
    flat = view_bytes(array)
    assert (flat.shape, flat.dtype) == ((8,), np.uint8)
    assert np.shares_memory(flat, array)
    assert view_bytes(array.T).tolist() == [1, 0, 3, 0, 2, 0, 4, 0]
    assert view_bytes(np.array(5, np.int32)).tolist() == [5, 0, 0, 0]
