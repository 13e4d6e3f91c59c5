"""Where an engine that computes float16 in float32 must round: before operations whose results jump.

Elsewhere the additional bits do no harm. A CAST to float32 passes them on, unless a CAST to float16 made them, which
rounds where a model says so.
"""

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.facts import Trait
from nnapi.model.graph import Graph, OperationCall
from nnapi.model.operation import REGISTRY
from nnapi.model.precision import Precision
from nnapi.operation_codes import CompositeCode

FLOAT16, FLOAT32 = OperandCode.TENSOR_FLOAT16, OperandCode.TENSOR_FLOAT32
FLOATS = (FLOAT16, FLOAT32)
CASTS = (OperationCode.CAST, CompositeCode.CONVERT)
JUMPS = Trait.STEPS | Trait.ORDERS
KEEPS = Trait.MOVES | Trait.CHOOSES | Trait.REQUANTIZES


class HalfPrecision:
    """The operands of a model, lowered in order, whose values have more bits than float16."""

    def __init__(self, model: Graph, *, casts_round: bool) -> None:
        """``casts_round`` says whether the engine rounds in a CAST to float16."""
        self._model = model
        self._casts_round = casts_round
        self.finer: dict[int, bool] = {}
        """Operands with more bits; the value is whether a CAST made them."""

    def list_rounded(self, call: OperationCall) -> frozenset[int]:
        """Return the inputs that must be rounded to float16 for a call."""
        if not self.finer or not REGISTRY[call.code].does(JUMPS):
            return frozenset()
        passes = call.code in CASTS and self._code(call.outputs[0]) == FLOAT32
        finer = [index for index in call.inputs if index in self.finer]
        return frozenset(index for index in finer if self.finer[index] or not passes)

    def accept(self, call: OperationCall) -> None:
        """Record which results of a lowered call have more bits."""
        for index in call.outputs:
            made_by_cast = self._find_finer(call, index) if self._code(index) in FLOATS else None
            if made_by_cast is not None:
                self.finer[index] = made_by_cast

    def _find_finer(self, call: OperationCall, result: int) -> bool | None:
        """Return whether a CAST made the additional bits of a result; None if it has none."""
        is_half, keeps = self._code(result) == FLOAT16, REGISTRY[call.code].does(KEEPS)
        if call.code in CASTS and is_half and self._code(call.inputs[0]) != FLOAT16:
            return None if self._casts_round else True
        read = [index for index in call.inputs if self._code(index) in FLOATS]
        if is_half and not (keeps and read):
            return False
        rounded = self.list_rounded(call)
        kept = [self.finer[index] for index in read if index in self.finer and index not in rounded]
        return any(kept) if kept and keeps else None

    def _code(self, index: int) -> int:
        return self._model.operands[index].type.code


def find_half_precision(model: Graph, casts_round: bool | None) -> HalfPrecision | None:
    """Return the record for a model with float16 tensors; None if nothing is rounded."""
    if casts_round is None or model.precision is not Precision.FLOAT32:
        return None
    has_halves = any(operand.type.code == FLOAT16 for operand in model.operands)
    return HalfPrecision(model, casts_round=casts_round) if has_halves else None
