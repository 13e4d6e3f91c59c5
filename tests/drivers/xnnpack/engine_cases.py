"""What tests of the engine's driver share: the two devices, and models of a few calls."""

from functools import cache

import numpy as np
import pytest

from nnapi.codes import OperandCode
from nnapi.model.model import Model
from nnapi.model.operand import OperandType
from nnapi.runtime.compilation import compile
from nnapi.runtime.device import Device, device
from nnapi.testing.compare import EXACT, SINGLE, STEP, compare
from nnapi.testing.single import run_single

pytest.importorskip("ai_edge_litert", reason="LiteRT has no wheel for this platform")

from nnapi.drivers.xnnpack import XnnpackDriver

QUANTISED = (OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED)


@cache
def engine(threads=1):
    """The device under test."""
    return Device(XnnpackDriver(threads))


def reference():
    return device("nnapi-reference")


def tolerance(type):
    """What the conformance judge allows a result of that type."""
    return STEP if type.is_quantized else SINGLE if type.code == OperandCode.TENSOR_FLOAT32 else EXACT


def agree(code, inputs, outputs, constant=True):
    """Assert that the engine gives what the reference gives, all tensors but the first constant, or all computed."""
    wanted = run_single(code, inputs, outputs, constant=constant, devices=[reference()])
    given = run_single(code, inputs, outputs, constant=constant, devices=[engine()])
    for type, ours, theirs in zip(outputs, given, wanted, strict=True):
        difference = compare(ours, theirs, tolerance(type))
        assert difference is None, str(difference)


def refusal(model):
    """The reason for the first operation that the engine refuses; None where it takes all."""
    return next((v.reason for v in engine().driver.verdicts(model) if not v.supported), None)


class Net:
    """A model built call by call; inputs and results are named by what the methods give."""

    def __init__(self):
        self.model = Model("net")
        self.inputs = []

    def input(self, type):
        self.inputs.append(self.model.add_operand(type))
        return self.inputs[-1]

    def constant(self, type, value):
        index = self.model.add_operand(OperandType(type.code, type.dimensions, type.scale, type.zero_point))
        if type.channel:
            self.model.set_operand_symm_per_channel_quant_params(index, type.channel.dimension, type.channel.scales)
        self.model.set_operand_value(index, None if value is None else np.ascontiguousarray(value, type.dtype))
        return index

    def numbers(self, *values):
        """INT32 scalars."""
        return [self.constant(OperandType(OperandCode.INT32), np.int32(value)) for value in values]

    def call(self, code, inputs, *outputs):
        """Add an operation; gives its result, or all of them where there are several."""
        results = [self.model.add_operand(type) for type in outputs]
        self.model.add_operation(code, inputs, results)
        return results[0] if len(results) == 1 else results

    def finished(self, *outputs):
        self.model.identify_inputs_and_outputs(self.inputs, outputs)
        self.model.finish()
        return self.model


def both(model, *inputs):
    """The outputs of the engine and of the reference."""
    return compile(model, [engine()]).run(*inputs), compile(model, [reference()]).run(*inputs)
