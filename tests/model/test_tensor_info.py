"""Inputs and outputs by name."""

import numpy as np

import nnapi
from nnapi.model.graph import Signature


def build(*names: str) -> nnapi.Model:
    b = nnapi.Builder()
    tensors = [b.input(nnapi.tensor("uint8", (1, 4), 0.5, 3), name) for name in names]
    b.output(b.concatenation(tensors, 0, scale=0.5, zero_point=3, name="all"))
    return b.finish()


def test_names_shapes_and_dtypes() -> None:
    model = build("image", "mask")
    (first, second), (result,) = model.input_info, model.output_info
    assert (first.name, second.name, result.name) == ("image", "mask", "all")
    assert (first.shape, result.shape) == ((1, 4), (2, 4))
    assert first.dtype == np.uint8
    assert (first.type.scale, first.type.zero_point) == (0.5, 3)


def test_tensors_without_a_name_of_their_own_are_numbered() -> None:
    assert [info.name for info in build("", "same", "same").input_info] == ["input_0", "same", "input_2"]


def test_the_names_of_the_signature_come_first() -> None:
    model = build("serving_default_x:0", "mask")
    model.signature = Signature("serving_default", (("x", 0),), (("scores", 0),))
    assert [info.name for info in model.input_info] == ["x", "mask"]
    assert [info.name for info in model.output_info] == ["scores"]
