"""Shared by tests of the engine's driver: the two devices, and models of a few calls."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperandCode
from nnapi.compiling import compile
from nnapi.model.model import Model
from nnapi.model.operand import OperandType
from nnapi.runtime.device import Device, device
from nnapi.testing.compare import EXACT, SINGLE, STEP, compare
from tests.drivers.xnnpack.well_formed_cases import need_well_formed
from tests.single import run_single, single

pytest.importorskip("ai_edge_litert", reason="LiteRT has no wheel for this platform")

from nnapi.drivers.xnnpack import XnnpackDriver
from nnapi.drivers.xnnpack.lowering import lower_model

QUANTIZED = (OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED)


@cache
def engine(threads: int = 1) -> Any:
    """The device under test."""
    return Device(XnnpackDriver(threads))


def reference() -> Device:
    return device("nnapi-reference")


def tolerance(type: OperandType) -> Any:
    """Return the tolerance of the conformance judge for a result of that type."""
    return STEP if type.is_quantized else SINGLE if type.code == OperandCode.TENSOR_FLOAT32 else EXACT


def agree(code: Any, inputs: list[Any], outputs: list[Any], constant: bool = True) -> None:
    """Assert that the engine gives what the reference gives, all tensors but the first constant, or all computed.

    The lowered graph keeps the rules of its format.
    """
    need_well_formed(lower_model(single(code, inputs, outputs, constant=constant)).graph)
    wanted = run_single(code, inputs, outputs, constant=constant, devices=[reference()])
    given = run_single(code, inputs, outputs, constant=constant, devices=[engine()])
    for type, ours, theirs in zip(outputs, given, wanted, strict=True):
        difference = compare(ours, theirs, tolerance(type))
        assert difference is None, str(difference)


def refusal(model: Model) -> str | None:
    """The reason for the first operation that the engine refuses; None where it takes all."""
    return next((v.reason for v in engine().driver.verdicts(model) if not v.supported), None)


class Net:
    """A model built call by call; inputs and results are named by what the methods give."""

    def __init__(self) -> None:
        self.model = Model("net")
        self.inputs = []  # type: ignore[var-annotated]

    def input(self, type: Any) -> Any:
        self.inputs.append(self.model.add_operand(type))
        return self.inputs[-1]

    def constant(self, type: Any, value: Any) -> Any:
        index = self.model.add_operand(OperandType(type.code, type.dimensions, type.scale, type.zero_point))
        if type.channel:
            self.model.set_operand_symm_per_channel_quant_params(index, type.channel.dimension, type.channel.scales)
        self.model.set_operand_value(index, None if value is None else np.ascontiguousarray(value, type.dtype))
        return index

    def numbers(self, *values: Any) -> Any:
        """INT32 scalars."""
        return [self.constant(OperandType(OperandCode.INT32), np.int32(value)) for value in values]

    def call(self, code: Any, inputs: Any, *outputs: Any) -> Any:
        """Add an operation; gives its result, or all of them where there are several."""
        results = [self.model.add_operand(type) for type in outputs]
        self.model.add_operation(code, inputs, results)
        return results[0] if len(results) == 1 else results

    def finished(self, *outputs: Any) -> Any:
        self.model.identify_inputs_and_outputs(self.inputs, outputs)
        self.model.finish()
        return self.model


def both(model: Model, *inputs: Any) -> tuple[Any, ...]:
    """The outputs of the engine and of the reference."""
    return compile(model, [engine()]).run(*inputs), compile(model, [reference()]).run(*inputs)
