"""The loss of each operation of a quantized model."""

from __future__ import annotations

import numpy as np
import pytest

import nnapi
from nnapi.errors import BadDataError
from nnapi.testing.quantization_loss import convert_inputs, measure_loss

STEP = 0.5
X = np.array([[0.2, 1.0, 1.3, 3.1]], np.float32)


def make_float() -> nnapi.Model:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", (1, 4)), name="x")
    sum = builder.add(x, np.array([[1.0, 1.0, 1.0, 1.0]], np.float32), name="sum")
    builder.output(builder.mul(sum, np.array([[3.0, 3.0, 3.0, 3.0]], np.float32), name="product"))
    return builder.finish()


def make_quantized(name: str = "sum", size: int = 4) -> nnapi.Model:
    """The same model; its input and the sum have steps of STEP, its output has steps of 0.25."""
    builder = nnapi.Builder()
    coarse = nnapi.tensor("quant8_asymm", (1, size), STEP, 0)
    x = builder.input(coarse, name="x")
    ones = builder.constant(np.full((1, size), 2, np.uint8), coarse)
    threes = builder.constant(np.full((1, size), 200, np.uint8), nnapi.tensor("quant8_asymm", (1, size), 0.015, 0))
    sum = builder.add(x, ones, out=coarse, name=name)
    builder.output(builder.mul(sum, threes, out=nnapi.tensor("quant8_asymm", (1, size), 0.25, 0), name="product"))
    return builder.finish()


def test_alone_and_whole() -> None:
    """Alone, an operation gets the float model's values, rounded; in the whole model, errors grow."""
    found = measure_loss(make_float(), make_quantized(), [[X]], nnapi.device("nnapi-reference"))
    sum, product = found.operations
    assert (sum.operation, sum.results, product.results) == ("ADD", ("sum",), ("product",))
    # 0.2, 1.0, 1.3 and 3.1 become 0, 1, 1.5 and 3: off by at most 0.2; alone, MUL gets 1.2 → 1.0, 2.3 → 2.5, 4.1 → 4
    assert sum.alone == sum.whole
    assert sum.alone.largest == pytest.approx(0.2)
    assert product.alone.largest == pytest.approx(3 * 0.2)
    noise, signal = 0.2**2 + 0 + 0.2**2 + 0.1**2, 1.2**2 + 2.0**2 + 2.3**2 + 4.1**2
    assert sum.alone.decibels == pytest.approx(10 * np.log10(signal / noise), abs=1e-4)
    assert [each.whole for each in found.outputs] == [product.whole]
    assert (found.agreeing, found.samples) == (1, 1)


def test_an_operation_whose_own_error_is_large() -> None:
    """The error of ADD is not counted for MUL alone, only in the whole model."""
    builder = nnapi.Builder()
    fine, coarse = (nnapi.tensor("quant8_asymm", (1, 4), scale, 0) for scale in (0.1, 4.0))
    x = builder.input(fine, name="x")
    sum = builder.add(x, builder.constant(np.full((1, 4), 10, np.uint8), fine), out=coarse, name="sum")
    threes = builder.constant(np.full((1, 4), 200, np.uint8), nnapi.tensor("quant8_asymm", (1, 4), 0.015, 0))
    builder.output(builder.mul(sum, threes, out=nnapi.tensor("quant8_asymm", (1, 4), 0.1, 0), name="product"))
    x_value = np.array([[2.9, 3.1, 3.0, 3.0]], np.float32)  # sums near a value of the coarse type
    found = measure_loss(make_float(), builder.finish(), [[x_value]], nnapi.device("nnapi-reference"))
    assert found.operations[0].alone.largest == pytest.approx(0.1, abs=1e-5)
    assert found.operations[1].alone.largest == pytest.approx(0.3, abs=1e-5)  # its input is of the coarse type


def test_the_worst_sample_counts() -> None:
    device = nnapi.device("nnapi-reference")
    samples = [[np.array([[0.0, 1.0, 2.0, 3.0]], np.float32)], [X]]
    both, second = (measure_loss(make_float(), make_quantized(), each, device) for each in (samples, samples[1:]))
    first = measure_loss(make_float(), make_quantized(), samples[:1], device)
    assert first.operations[0].alone.decibels is None
    assert both.operations == second.operations
    assert both.samples == 2


def test_results_that_the_float_model_lacks() -> None:
    """An operation without a float result of its name passes its own result on."""
    found = measure_loss(make_float(), make_quantized("other"), [[X]], nnapi.device("nnapi-reference"))
    assert (found.operations[0].alone, found.operations[0].whole) == (None, None)
    assert found.operations[1].alone == found.operations[1].whole


def test_another_model_is_refused() -> None:
    with pytest.raises(BadDataError, match=r"the inputs of .* have dimensions \[\(1, 4\)\], those of .* \[\(1, 5\)\]"):
        measure_loss(make_float(), make_quantized(size=5), [[X]], nnapi.device("nnapi-reference"))


def test_greatest_elements_that_differ() -> None:
    close = np.array([[1.0, 1.01, 0.0, 0.0]], np.float32)  # both become 1, and the first is taken
    found = measure_loss(make_float(), make_quantized(), [[close], [X]], nnapi.device("nnapi-reference"))
    assert (found.agreeing, found.samples) == (1, 2)


def test_inputs_are_quantized_only_if_the_model_stores_them_so() -> None:
    (stored,) = convert_inputs(make_float(), make_quantized(), [X])
    assert stored.tolist() == [[0, 2, 3, 6]]
    (same,) = convert_inputs(make_float(), make_float(), [X])
    assert same is X
    finer = nnapi.Builder()
    finer.output(finer.relu(finer.input(nnapi.tensor("quant8_asymm", (1, 4), 0.25, 3))))
    (restored,) = convert_inputs(make_quantized(), finer.finish(), [stored])  # of another scale and zero point
    assert restored.tolist() == [[3, 7, 9, 15]]


def test_greatest_elements_mean_nothing_in_pictures() -> None:
    def make(kind: str) -> nnapi.Model:
        builder = nnapi.Builder()
        type = nnapi.tensor(kind, (1, 2, 2, 1), *((STEP, 0) if kind.startswith("quant") else ()))
        builder.output(builder.relu(builder.input(type, name="x"), name="y"))
        return builder.finish()

    x = np.zeros((1, 2, 2, 1), np.float32)
    device = nnapi.device("nnapi-reference")
    assert measure_loss(make("float32"), make("quant8_asymm"), [[x]], device).agreeing is None
