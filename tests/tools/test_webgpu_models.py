"""The small models that the accelerator is tried with: they run, and differ from each other."""

import numpy as np

import nnapi
from nnapi.drivers.litert.lowering import lower_model
from nnapi.drivers.webgpu.lowering import WebGpuLowering
from nnapi.drivers.webgpu.patterns import describe_pattern
from tools.webgpu_models import draw_inputs, make_models
from tools.webgpu_patterns import find_difference


def test_networks_are_made_of_what_they_are_made_of() -> None:
    models = list(make_models())
    names = {model.operations[-1].name for model in models}
    assert {"ADD", "CONCATENATION", "MEAN", "PAD", "RESHAPE", "SOFTMAX", "TRANSPOSE"} <= names
    found = {
        describe_pattern(each) for model in models for each in lower_model(model, None, WebGpuLowering).graph.operators
    }
    assert {"ADD i8[4] > i8[4]", "CONCATENATION f32[4] > f32[4] at3", "MEAN f32[4] i32[1]c > f32[4] at1 at2"} <= found


def test_a_difference_is_found_by_the_tolerance_of_its_type() -> None:
    model = next(each for each in make_models() if each.name.startswith("relu, quant8_asymm["))
    (wanted,) = nnapi.compile(model, nnapi.device("nnapi-reference")).run(*draw_inputs(model))
    assert find_difference(model, [wanted + np.uint8(1)], [wanted]) == ""
    assert "the worst by 2" in find_difference(model, [wanted + np.uint8(2)], [wanted])
