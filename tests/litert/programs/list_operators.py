"""list_operators.py MODEL: how many operators of each kind a model has."""

import sys
from collections import Counter

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

kind = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
interpreter = Interpreter(sys.argv[1], experimental_op_resolver_type=kind)
interpreter.allocate_tensors()
counted = Counter(each["op_name"] for each in interpreter._get_ops_details())
np.savez("results.npz", counted=[f"{kind} {count}" for kind, count in sorted(counted.items())])
