"""Published models."""

from typing import Any

import numpy as np
import pytest

from nnapi.importers import load
from tests.drivers.xnnpack.engine_cases import both, engine
from tests.rows import each_row

pytestmark = [pytest.mark.shared, pytest.mark.engine]

WHOLE = {
    "add_trivial": 0,
    "blazeface_front_float": 1e-4,
    "mobilenet_v1_0.25_128_float": 1e-5,
    "tiny_ad01_float": 1e-3,
    "mobilenet_v1_0.25_128_quant": 8,
    "tiny_ad01_int8": 2,
    "tiny_kws_int8": 2,
    "tiny_resnet8_int8": 4,
    "tiny_vww_96_int8": 4,
    "tflm_micro_speech_int8": 2,
    "text_movie_review": 1e-5,
    "tflm_mnist_lstm_float": 1e-5,
    "tflm_mnist_lstm_int8": 8,
    "keras_lstm_mnist_ptq": 8,
    "tflm_dtln_int8": 4,
}
"""Models that the engine takes whole, and how far its outputs may be off the reference's: the codes or numbers that
rounding accumulates to."""


@each_row("name", WHOLE)
def test_models(shared: Any, name: str) -> None:
    model = load(shared / "models" / f"{name}.tflite")
    assert [v.reason for v in engine().driver.verdicts(model) if not v.supported] == []
    random = np.random.default_rng(0)
    inputs = [_random(model.operands[index].type, random) for index in model.inputs]
    for ours, theirs in zip(*both(model, *inputs), strict=True):
        assert np.abs(ours.astype(np.float64) - theirs).max() <= WHOLE[name]


def _random(type: Any, random: Any) -> Any:
    shape = [dimension or 1 for dimension in type.dimensions]
    if type.dtype.kind == "f":
        return random.uniform(-1, 1, shape).astype(np.float32)
    limits = np.iinfo(type.dtype) if type.dtype.itemsize == 1 else np.iinfo(np.uint8)
    return random.integers(limits.min, limits.max, shape, type.dtype, endpoint=True)
