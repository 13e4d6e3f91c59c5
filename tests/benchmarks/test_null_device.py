"""A device that computes nothing: zeros of the right types, and every operation taken."""

import numpy as np

from benchmarks.null_device import Null
from nnapi import Builder, Device, compile, tensor
from nnapi.codes import OperandCode
from nnapi.contract.driver import Driver


def test_zeros_of_the_declared_types() -> None:
    b = Builder("two outputs")
    x = b.input(tensor("float32", (2, 3)))
    b.output(b.abs(x), b.cast(x, out=tensor("int32", (2, 3))))
    assert isinstance(Null(), Driver)
    floats, integers = compile(b.finish(), Device(Null())).run(np.ones((2, 3), np.float32))
    assert (floats.dtype, floats.tolist()) == (np.float32, [[0, 0, 0]] * 2)
    assert (integers.dtype, integers.tolist()) == (np.int32, [[0, 0, 0]] * 2)


def test_dimensions_that_only_a_computation_could_tell_are_1() -> None:
    b = Builder("open")
    b.output(b.floor(b.input(tensor("float32", (0, 3))), out=tensor("float32", (0, 3))))
    assert compile(b.finish(), Device(Null())).run(np.ones((5, 3), np.float32))[0].shape == (1, 3)


def test_it_takes_what_nobody_knows() -> None:
    from nnapi import Model

    model = Model("foreign")
    x, y = (model.add_operand(tensor("float32", (2,))) for _ in "xy")
    model.add_operation(model.extension_operation_type("com.example.foreign", 1), [x], [y])
    model.identify_inputs_and_outputs([x], [y])
    model.finish()
    (found,) = compile(model, Device(Null())).run(np.ones(2, np.float32))
    assert found.tolist() == [0, 0]
    assert model.operands[y].type.code == OperandCode.TENSOR_FLOAT32
