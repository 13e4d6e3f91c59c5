"""The float values that inputs take for black and white, and how that is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode
from nnapi.vision.families import find_family
from nnapi.vision.pictures import Pixels
from nnapi.vision.pixel_ranges import IMAGENET, find_pixels, mean_of_input
from tests.vision.family_cases import model_of


def limits(pixels: Pixels) -> tuple[float, float]:
    assert pixels.mean is not None
    assert pixels.std is not None
    low, high = (-pixels.mean[0] / pixels.std[0]), (255 - pixels.mean[0]) / pixels.std[0]
    return round(low, 3) + 0.0, round(high, 3)


def quantized_model(scale: float, zero_point: int) -> nnapi.Model:
    model = nnapi.Model()
    model.add_operand(nnapi.tensor("int8", (1, 8, 8, 3), scale, zero_point))
    model.add_operand(nnapi.tensor("float32", (1, 9)))
    model.inputs, model.outputs = (0,), (1,)
    return model


@pytest.mark.parametrize(
    ("scale", "zero_point", "guessed"),
    [(1 / 255, -128, False), (1 / 127.5, -1, False), (1.0, -128, False), (1.0, 0, False), (0.0116, -5, True)],
)
def test_quantized_inputs_take_pixels(scale: float, zero_point: int, guessed: bool) -> None:
    found = find_pixels(quantized_model(scale, zero_point), Pixels(), None)
    assert not found.is_given
    assert found.reason.startswith("guessed: the input stores") == guessed


def test_imagenet_s_mean_shows_in_quantization() -> None:
    found = find_pixels(quantized_model(0.018631, -14), Pixels(), None)
    assert (found.mean, found.std) == (IMAGENET.mean, IMAGENET.std)


def test_metadata_comes_first() -> None:
    found = find_pixels(model_of(("float32", (1, 9))), Pixels((0.0,), (255.0,)), None)
    assert (limits(found), found.reason) == ((0, 1), "as the file says")


def test_without_anything_it_is_a_guess() -> None:
    found = find_pixels(model_of(("float32", (1, 9))), Pixels(), None)
    assert limits(found) == (-1, 1)
    assert found.reason.startswith("guessed")


def network(mean: float) -> nnapi.Model:
    """A convolution whose biases cancel what its filters give for pictures of that mean."""
    filters = np.random.default_rng(1).normal(size=(4, 3, 3, 3)).astype(np.float32)
    b = nnapi.Builder()
    image = b.input(nnapi.tensor("float32", (1, 8, 8, 3)))
    biases = (-mean * filters.sum((1, 2, 3))).astype(np.float32)
    b.output(b.conv_2d(image, filters, biases, 1, 1, 1, 0))
    return b.finish()


@pytest.mark.parametrize(("mean", "wanted"), [(0.48, (0, 1)), (110.0, (0, 255)), (-0.3, (-1, 1)), (5.0, (-1, 1))])
def test_the_first_convolution_shows_the_mean_of_its_inputs(mean: float, wanted: tuple[float, float]) -> None:
    model = network(mean)
    assert mean_of_input(model, model.inputs[0]) == pytest.approx(mean, rel=1e-3)
    found = find_pixels(model, Pixels(), None)
    assert limits(found) == wanted
    assert found.reason.startswith("guessed")


def test_what_quantizes_the_input_at_once_shows_its_range() -> None:
    model = nnapi.Model()
    model.add_operand(nnapi.tensor("float32", (1, 8, 8, 3)))
    model.add_operand(nnapi.tensor("int8", (1, 8, 8, 3), 1 / 255, -128))
    model.add_operation(OperationCode.QUANTIZE, [0], [1])
    model.inputs, model.outputs = (0,), (1,)
    found = find_pixels(model, Pixels(), None)
    assert (limits(found), found.reason) == ((0, 1), "as its first operation quantizes them")


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("models/tiny_resnet8_float", (0, 255)),
        ("models-2/tiny_resnet_large_float", (0, 255)),
        ("models/tiny_vww_96_float", (0, 1)),
        ("models/edsr_f32b5_float", (0, 255)),
        ("models/deq_mobilenet_v2_1.0_224_float", (-1, 1)),
        ("models/mobilenet_v1_0.25_128_float", (-1, 1)),
        ("models/deeplabv3_257_float", (-1, 1)),
        ("models-2/face_landmark_float", (0, 1)),
        ("models-2/hair_segmentation_float", (0, 1)),
        ("models-2/blazeface_front_int8", (-1, 1)),
        ("models-2/cpm_pose_float", (0, 255)),
    ],
)
def test_published_networks(shared: Path, name: str, wanted: tuple[float, float]) -> None:
    model = nnapi.load(shared / f"{name}.tflite")
    assert limits(find_pixels(model, Pixels(), find_family(model))) == wanted
