"""A driver that has 25 basic operations and nothing else: it computes all others by their decompositions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from nnapi import DeviceTypeCode, device
from nnapi.codes import CONTROL_FLOW
from nnapi.codes import OperationCode as Op
from nnapi.contract.driver import Capabilities, DeviceInfo, Prepared, PrepareOptions, Verdict
from nnapi.lowering.lower import Context, Lowering, need_supported
from nnapi.lowering.refusal import require
from nnapi.model.call import Call
from nnapi.model.model import Lifetime, Model, Operand, OperationCall
from nnapi.model.operand import OperandType, Shape
from nnapi.rule_table import LoweringRules

BASIC = frozenset(
    {
        Op.ADD,
        Op.SUB,
        Op.MUL,
        Op.DIV,
        Op.MAXIMUM,
        Op.NEG,
        Op.POW,
        Op.EXP,
        Op.LOG,
        Op.SQRT,
        Op.SIN,
        Op.FLOOR,
        Op.GREATER,
        Op.EQUAL,
        Op.SELECT,
        Op.CAST,
        Op.QUANTIZE,
        Op.DEQUANTIZE,
        Op.CONV_2D,
        Op.RESHAPE,
        Op.CONCATENATION,
        Op.GATHER,
        Op.TOPK_V2,
        Op.IF,
        Op.WHILE,
    }
)


def pass_through(context: Context, **arguments: Any) -> list[int]:
    """Lower an operation as itself: :meth:`Rewriting.accept_results` writes it."""
    return [-1] * len(context.call.outputs)


class Rewriting(Lowering[int, Context]):
    """To a model of basic operations, ``written``: a value is the index of an operand in it."""

    rules = LoweringRules()
    rules.own.update(dict.fromkeys(BASIC - CONTROL_FLOW, pass_through))
    no_rule = "it is not basic"
    decomposes = True

    def __init__(self, model: Model, shapes: Sequence[Shape | None], written: Model | None = None) -> None:
        super().__init__(model, shapes)
        self.written = written or Model(model.name)
        self.written.permit_high_ranks(True)  # decompositions may have them, and the reference takes them
        self.calls: list[tuple[int, list[int], list[int]]] = []

    def finish(self) -> Model:
        for call in self.calls:
            self.written.add_operation(*call)
        self.written.assign_roles(*(list(map(self.value, each)) for each in (self.model.inputs, self.model.outputs)))
        self.written.relax_computation_float32_to_float16(self.model.relaxed)
        self.written.freeze()
        return self.written

    def context(self, call: Call) -> Context:
        return Context(call)

    def add_input(self, operand: Operand) -> None:
        self.value(operand.index)

    def make_value(self, operand: Operand) -> int:
        type, written = operand.type, self.written
        index = written.add_operand(OperandType(type.code, type.dimensions, type.scale, type.zero_point), operand.name)
        if type.channel:
            written.set_operand_symm_per_channel_quant_params(index, type.channel.dimension, type.channel.scales)
        if operand.lifetime is Lifetime.SUBGRAPH:
            nested = lower(operand.value)
            require(all(verdict.supported for verdict in nested.verdicts), "it leads to what is not basic")
            written.set_operand_value_from_model(index, nested.finish())
        elif operand.lifetime in (Lifetime.CONSTANT, Lifetime.NO_VALUE):
            written.set_operand_value(index, operand.value)
        return index

    def transpose(self, context: Context, value: int, order: tuple[int, ...]) -> int:
        return value

    def accept_results(self, call: OperationCall, context: Context, results: list[int]) -> list[int]:
        return self._write(call)

    def make_part(self, model: Model, origins: Mapping[int, int]) -> Self:
        part = super().make_part(model, origins)
        part.written = self.written
        return part

    def adopt_part(self, call: OperationCall, part: Self) -> None:
        super().adopt_part(call, part)
        self.calls += part.calls

    def _lower(self, call: OperationCall) -> None:
        if call.code not in CONTROL_FLOW:
            super()._lower(call)
            return
        self.values.update(zip(call.outputs, self._write(call), strict=True))
        self.continue_after(call)

    def _write(self, call: OperationCall) -> list[int]:
        results = [self.make_value(self.model.operands[index]) for index in call.outputs]
        self.calls.append((call.code, list(map(self.value, call.inputs)), results))
        return results


def lower(model: Model) -> Rewriting:
    return Rewriting(model, [model.operands[index].type.dimensions for index in model.inputs]).run()


class Basic:
    """The reference with the basic operations, and decompositions around it."""

    info = DeviceInfo("basic", "1", DeviceTypeCode.DEVICE_CPU, 8)

    def __init__(self) -> None:
        self.driver = device("nnapi-reference").driver
        self._lowered: tuple[Model, Rewriting] | None = None

    def capabilities(self) -> Capabilities:
        return self.driver.capabilities()

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return self._lower(model).verdicts

    def _lower(self, model: Model) -> Rewriting:
        """The model lowered, once for all questions about it."""
        if self._lowered is None or self._lowered[0] is not model:
            self._lowered = model, lower(model)
        return self._lowered[1]

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        lowered = self._lower(model)
        need_supported(lowered.verdicts)
        return self.driver.prepare(lowered.finish(), options)
