"""rate_review.py MODEL: whether words, as numbers, are for or against."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1])
interpreter.allocate_tensors()
details = interpreter.get_input_details()[0]
words = np.zeros(details["shape"], details["dtype"])
words[0, :8] = [1, 14, 22, 16, 43, 530, 973, 65]
interpreter.set_tensor(details["index"], words)
interpreter.invoke()
np.savez("results.npz", rating=interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
