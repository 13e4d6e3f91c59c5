"""The permitted precision of float32: names, the models that get it, and identity."""

from pathlib import Path

import pytest

from nnapi import BadDataError, BadStateError, Builder, Device, Model, compile, tensor, tune
from nnapi.model.content_hash import hash_content
from nnapi.model.precision import Precision, read_precision
from nnapi.runtime.settings import settings
from tests.runtime.cache_cases import Slow

FILE = Path(__file__).parents[2] / "examples" / "digits" / "digits_float.tflite"


def network() -> Model:
    b = Builder()
    b.output(b.tanh(b.input(tensor("float32", (2, 3)))))
    return b.finish()


def test_names() -> None:
    assert [read_precision(name) for name in ("float32", "float16", "bfloat16")] == list(Precision)
    with pytest.raises(BadDataError, match="precision is 'half', must be one of float32, float16, bfloat16"):
        read_precision("half")


def test_relaxed_is_float16_and_never_bfloat16() -> None:
    model = Model()
    model.relax_computation_float32_to_float16(True)
    assert (model.precision, model.relaxed) == (Precision.FLOAT16, True)
    model.permit_precision(Precision.BFLOAT16)
    assert not model.relaxed
    with pytest.raises(BadStateError):
        network().permit_precision(Precision.FLOAT16)


def test_compilations_take_a_precision() -> None:
    model = network()
    assert compile(model, "nnapi-reference").model is model
    assert compile(model, "nnapi-reference", precision="float32").model is model
    assert compile(model, "nnapi-reference", precision="bfloat16").model.precision is Precision.BFLOAT16
    assert compile(model, "nnapi-reference", relaxed=True).model.precision is Precision.FLOAT16
    assert tune(model, "nnapi-reference", precision="float16").model.precision is Precision.FLOAT16
    with pytest.raises(BadDataError, match="precision is 'double'"):
        compile(model, precision="double")  # type: ignore[arg-type]
    with pytest.raises(BadDataError, match="both given"):
        compile(model, precision="float16", relaxed=True)


def test_prepared_models_of_files_are_cached_by_precision() -> None:
    drivers = [Slow() for _ in range(3)]
    with settings(tuning=True):
        for driver, precision in zip(drivers, ("float16", "float16", "bfloat16"), strict=True):
            compile(FILE, [Device(driver)], precision=precision)  # type: ignore[arg-type]
    assert [len(driver.prepared) for driver in drivers] == [1, 0, 1]


def test_each_precision_is_another_model_for_caches_and_records() -> None:
    assert len({hash_content(network().with_precision(each)) for each in Precision}) == 3
