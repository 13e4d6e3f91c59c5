"""Compare dequantized values, with broadcasting.

EQUAL: whether two tensors are equal, element by element, with broadcasting.
GREATER: whether x > y, element by element, with broadcasting.
GREATER_EQUAL: whether x ≥ y, element by element, with broadcasting.
LESS: whether x < y, element by element, with broadcasting.
LESS_EQUAL: whether x ≤ y, element by element, with broadcasting.
NOT_EQUAL: whether two tensors differ, element by element, with broadcasting.
"""

from collections.abc import Callable

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array
from nnapi.model.operation import Operation
from nnapi.ops.pairwise import pairwise
from nnapi.ops.types import BOOL8, numbers

FACTS = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.CHOOSES | Trait.STEPS | Trait.COMPARES)


def _comparison(code: OperationCode, function: Callable[[Array, Array], Array]) -> Operation:
    return pairwise(code, FACTS, lambda x, y: function(x, y), numbers(3, int32=3) | {BOOL8: 3}, out={BOOL8: 3})


EQUAL = _comparison(OperationCode.EQUAL, np.equal)
GREATER = _comparison(OperationCode.GREATER, np.greater)
GREATER_EQUAL = _comparison(OperationCode.GREATER_EQUAL, np.greater_equal)
LESS = _comparison(OperationCode.LESS, np.less)
LESS_EQUAL = _comparison(OperationCode.LESS_EQUAL, np.less_equal)
NOT_EQUAL = _comparison(OperationCode.NOT_EQUAL, np.not_equal)
