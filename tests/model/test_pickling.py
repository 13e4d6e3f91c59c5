"""Finished models as plain values: what they are made of again, and with another precision."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from nnapi import BadDataError, BadStateError, Builder, Model, OperationCode, compile, load, tensor
from nnapi.model.content_hash import hash_content
from nnapi.model.pickling import build, describe
from nnapi.model.precision import Precision

FILE = Path(__file__).parents[2] / "examples" / "digits" / "digits_quant.tflite"
X = np.array([[1, -2], [3, -4]], np.float32)


def branching() -> Model:
    """Return a model that adds 1 or 2, depending on its first input; both branches contain the same nested model."""
    inner = []
    for amount in (1, 2):
        b = Builder(f"adds {amount}")
        b.output(b.add(b.input(tensor("float32", (2, 2)), name="x"), np.full((2, 2), amount, np.float32)))
        inner.append(b.finish())
    b = Builder("branching")
    condition, x = b.input(tensor("bool8", (1,)), name="condition"), b.input(tensor("float32", (2, 2)), name="x")
    (y,) = b.if_(condition, *inner, x)  # type: ignore[call-overload]
    b.output(y)
    return b.finish()


def answers(model: Model, *inputs: object) -> list[object]:
    return [output.tolist() for output in compile(model, "nnapi-reference").run(*inputs)]


def test_models_that_refer_to_models_come_back() -> None:
    again = pickle.loads(pickle.dumps(branching()))
    assert hash_content(again) == hash_content(branching())
    assert answers(again, np.array([True]), X) == [(X + 1).tolist()]
    assert answers(again, np.array([False]), X) == [(X + 2).tolist()]


def test_a_model_of_a_file_comes_back_by_its_path() -> None:
    model = load(FILE)
    pickled = pickle.dumps(model)
    assert len(pickled) < 1000 < FILE.stat().st_size
    assert hash_content(pickle.loads(pickled)) == hash_content(model)


def test_a_model_of_bytes_takes_them_along() -> None:
    model = load(FILE.read_bytes())
    again = pickle.loads(pickle.dumps(model))
    assert hash_content(again) == hash_content(model)
    assert [call.number for call in again.operations] == [call.number for call in model.operations]


def test_another_file_in_its_place_is_told(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(FILE.read_bytes())
    pickled = pickle.dumps(load(path))
    path.write_bytes(FILE.with_name("digits_float.tflite").read_bytes())
    with pytest.raises(BadDataError, match=r"model\.tflite does not hold the model that was pickled"):
        pickle.loads(pickled)


def test_a_model_under_construction_is_refused() -> None:
    with pytest.raises(BadStateError, match="it is building, not finished"):
        pickle.dumps(Model("half"))


def test_constants_are_not_copied() -> None:
    value = np.full(1000, 2, np.float32)
    value.flags.writeable = False
    b = Builder()
    b.output(b.mul(b.input(tensor("float32", (1000,))), value))
    operands = build(Model, describe(b.finish())).operands
    assert any(isinstance(o.value, np.ndarray) and np.shares_memory(o.value, value) for o in operands)


def test_precision_goes_all_the_way_down() -> None:
    model = branching().with_precision(Precision.FLOAT16)
    assert [each.precision for each in describe(model)] == [Precision.FLOAT16] * 3
    assert compile(branching(), "nnapi-reference", relaxed=True).model.relaxed
    assert not compile(model, "nnapi-reference", relaxed=False).model.relaxed
    assert compile(model, "nnapi-reference").model is model


def test_what_is_permitted_goes_along() -> None:
    b = Builder()
    b.output(b.abs(b.input(tensor("float32", (2,)))))
    b.model.permit_dynamic_range(True)
    b.model.permit_rounded_states(True)
    model = b.finish()
    assert pickle.loads(pickle.dumps(model)).dynamic_range
    assert pickle.loads(pickle.dumps(model)).rounded_states
    assert pickle.loads(pickle.dumps(model)).high_ranks  # as in all models of the Builder
    assert model.with_precision(Precision.FLOAT16).dynamic_range
    assert [each.dynamic_range for each in describe(branching())] == [False] * 3


def test_tensors_without_elements() -> None:
    model = Model("empty")
    model.empty_tensors = True
    constant, result = (model.add_operand(tensor("float32", (0, 3))) for _ in range(2))
    model.set_operand_value(constant, np.zeros((0, 3), np.float32))
    model.add_operation(OperationCode.CAST, [constant], [result])
    model.assign_roles([], [result])
    model.finish()
    again = pickle.loads(pickle.dumps(model))
    assert again.empty_tensors
    assert hash_content(again) == hash_content(model)
    for each in (model, again):
        assert compile(each, "nnapi-reference").run()[0].shape == (0, 3)
