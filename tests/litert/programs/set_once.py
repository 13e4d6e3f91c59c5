"""set_once.py MODEL: an input that is set once and read by every run."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1])
interpreter.allocate_tensors()
first, second = (details["index"] for details in interpreter.get_input_details())
interpreter.set_tensor(second, np.full((2, 3), 5, np.float32))
results = []
for value in range(3):
    interpreter.set_tensor(first, np.full((2, 3), value, np.float32))
    interpreter.invoke()
    interpreter.invoke()
    results.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
np.savez("results.npz", results=results, kept=interpreter.get_tensor(second))
