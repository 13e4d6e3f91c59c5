"""PRELU: x above 0, alpha · x below, with broadcasting."""

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array
from nnapi.ops.pairwise import pairwise
from nnapi.ops.types import reals


def prelu(input: Array, alpha: Array) -> Array:
    return np.where(input >= 0, input, alpha * input)


PRELU = pairwise(OperationCode.PRELU, Facts(Kind.ELEMENTWISE, Trait.PAIRS), prelu, reals(3), names=("input", "alpha"))
