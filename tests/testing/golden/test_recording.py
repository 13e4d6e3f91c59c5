"""Recordings of runs: every tensor, its layout, and the arguments of each operation."""

from __future__ import annotations

import numpy as np

import nnapi
from nnapi.model.builder import Builder
from nnapi.model.model import Lifetime, Model
from nnapi.model.operand import tensor
from nnapi.samples import find_sample
from nnapi.testing.golden.recording import record
from tests.testing.golden.golden_cases import CASES, SIGNED, draw


def digits() -> Model:
    return nnapi.load(find_sample("digits"))


def test_every_tensor_of_a_run_has_its_value() -> None:
    model = digits()
    given = [draw(model.operands[index].type) for index in model.inputs]
    golden = record(model, given)
    arrays = {tensor.index: tensor.array for tensor in golden.tensors}
    assert set(arrays) == {operand.index for operand in model.operands if not operand.type.is_scalar}
    assert arrays[model.inputs[0]] is given[0]
    computed = [index for call in model.operations for index in call.outputs]
    kept = nnapi.compile(model, "nnapi-reference").run(*given, keep=computed)[len(model.outputs) :]
    for index, array in zip(computed, kept, strict=True):
        assert np.array_equal(arrays[index], array)
    assert [each.number for each in golden.operations] == [call.number for call in model.operations]
    assert (golden.inputs, golden.outputs) == (model.inputs, model.outputs)


def test_layouts_of_images_and_filters() -> None:
    def list_layouts(name: str) -> list[str]:
        model = CASES[name]
        golden = record(model, [draw(model.operands[index].type) for index in model.inputs])
        return [each.layout for each in golden.tensors]

    assert list_layouts("conv_2d") == ["OHWI", "", "NHWC", "NHWC"]
    assert list_layouts("conv_2d as NCHW") == ["OHWI", "", "NCHW", "NCHW"]
    assert list_layouts("depthwise_conv_2d") == ["1HWO", "", "NHWC", "NHWC"]
    assert list_layouts("fully_connected") == ["", "OI", "", ""]


def test_settings_have_names_of_their_own() -> None:
    model = CASES["depthwise_conv_2d"]
    (operation,) = record(model, [draw(model.operands[index].type) for index in model.inputs]).operations
    assert operation.settings == {
        "padding": ((1, 1), (0, 1)),
        "stride": (2, 1),
        "dilation": (1, 1),
        "depth_multiplier": 2,
    }
    assert set(operation.inputs) == {"input", "filter", "bias"}
    assert operation.activation == ""
    (added,) = record(CASES["add"], [draw(CASES["add"].operands[CASES["add"].inputs[0]].type)]).operations
    assert added.activation == "FUSED_RELU"


def test_dimensions_that_only_a_run_knows_are_those_of_the_run() -> None:
    builder = Builder("dynamic")
    builder.output(builder.relu(builder.input(tensor(SIGNED, (None, 3), 0.5))))
    golden = record(builder.finish(), [np.zeros((4, 3), np.int8)])
    assert [each.array.shape for each in golden.tensors if each.lifetime != Lifetime.CONSTANT] == [(4, 3), (4, 3)]


def test_an_omitted_input_is_no_tensor() -> None:
    builder = Builder("transposed")
    builder.output(builder.transpose(builder.input(tensor(SIGNED, (2, 3), 0.5)), None))
    (operation,) = (golden := record(builder.finish(), [np.zeros((2, 3), np.int8)])).operations
    assert len(golden.tensors) == 2
    assert operation.settings == {}


def test_nested_models_are_not_recorded() -> None:
    branch = Builder("branch")
    branch.output(branch.relu(branch.input(tensor(SIGNED, (2,), 0.5))))
    model = branch.finish()
    builder = Builder("if")
    condition = builder.input(tensor("bool8", (1,)))
    builder.output(*builder.if_(condition, model, model, builder.input(tensor(SIGNED, (2,), 0.5))))
    golden = record(builder.finish(), [np.ones(1, np.uint8), np.array([-3, 4], np.int8)])
    (operation,) = golden.operations
    assert (operation.arithmetic.rule, operation.arithmetic.micro) == ("nested", None)
    assert golden.tensors[-1].array.tolist() == [0, 4]


def test_progress_names_each_operation() -> None:
    model, seen = digits(), list[str]()
    record(model, [draw(model.operands[index].type) for index in model.inputs], lambda call: seen.append(call.name))
    assert seen == [call.name for call in model.operations]
