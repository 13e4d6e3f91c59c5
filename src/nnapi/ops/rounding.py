"""Rounding of each element.

ROUND: the nearest integer; halves to even.
CEIL: each element rounded up.
SIGN: -1, 0 or 1 by the sign of each element.
"""

import numpy as np

from nnapi.operation_codes import CompositeCode
from nnapi.ops.elementwise import STEPPING, declare_function
from nnapi.ops.signature_types import INT32, floats

ROUND = declare_function(CompositeCode.ROUND, STEPPING, np.rint, floats(3))
CEIL = declare_function(CompositeCode.CEIL, STEPPING, np.ceil, floats(3))
SIGN = declare_function(CompositeCode.SIGN, STEPPING, np.sign, floats(3) | {INT32: 3})
