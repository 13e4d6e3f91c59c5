"""Constants in memory that a client takes back."""

import numpy as np

from nnapi import Builder, Model, tensor
from nnapi.model.borrowed_memory import BorrowedMemory, hold
from nnapi.model.model import constants


def make(memory: np.ndarray) -> Model:
    """x + a constant that lies in some memory."""
    b = Builder("model")
    b.output(b.add(b.input(tensor("float32", (64,)), name="x"), b.constant(memory)))
    return b.finish()


def test_a_model_that_owns_its_constants_is_given_as_it_is() -> None:
    model = make(np.ones(64, np.float32))
    assert hold(model) is model


def test_of_borrowed_constants_a_copy_is_given_until_they_are_given_back() -> None:
    memory = np.arange(64, dtype=np.float32)
    memory.flags.writeable = False
    model = make(memory)
    assert any(np.shares_memory(each, memory) for each in constants(model))
    model.borrowed = BorrowedMemory()
    held = hold(model)
    assert held is not None
    assert held is not model
    assert not any(np.shares_memory(each, memory) for each in constants(held))
    assert any(np.array_equal(each, memory) for each in constants(held))
    assert hold(held) is held
    model.borrowed.revoke()
    assert hold(model) is None
