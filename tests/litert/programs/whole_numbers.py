"""whole_numbers.py MODEL: 64-bit numbers and truth values."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1])
interpreter.allocate_tensors()
for details, values in zip(interpreter.get_input_details(), ([3, -5, 7], [1, 2, 9]), strict=True):
    interpreter.set_tensor(details["index"], np.array(values, details["dtype"]))
interpreter.invoke()
results = [interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()]
np.savez("results.npz", low=results[0], less=results[1])
