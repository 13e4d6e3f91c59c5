"""one_signature.py MODEL: the only signature of a model, called like a function."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

runner = Interpreter(model_path=sys.argv[1]).get_signature_runner()
outputs = runner(a=np.array([1, 2, 3], np.float32), b=np.array([4, 5, 6], np.float32))
np.savez("results.npz", **outputs)
