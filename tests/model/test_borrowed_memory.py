"""Constants in memory that a client takes back."""

import gc
import threading

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.model.borrowed_memory import BorrowedMemory, RevokedError, hold, reading
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


def test_memory_is_given_back_only_when_no_thread_reads_it() -> None:
    model, events = make(np.ones(64, np.float32)), list[str]()
    model.borrowed = memory = BorrowedMemory()

    def revoke() -> None:
        memory.revoke()
        events.append("revoked")

    revoking = threading.Thread(target=revoke)
    with reading(model):
        assert not gc.isenabled()  # collected garbage may own the memory, and would revoke it in this thread
        revoking.start()
        while memory.is_valid:
            pass
        events.append("read")
    revoking.join()
    assert events == ["read", "revoked"]
    assert gc.isenabled()
    with pytest.raises(RevokedError, match="the client has freed the model's constants"), reading(model):
        pass


def test_constants_that_a_model_owns_can_always_be_read() -> None:
    model = make(np.ones(64, np.float32))
    with reading(model):
        assert gc.isenabled()
