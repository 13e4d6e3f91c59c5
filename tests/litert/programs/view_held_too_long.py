"""view_held_too_long.py MODEL: a view that lives while the interpreter should run."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1])
interpreter.allocate_tensors()
view = interpreter.tensor(interpreter.get_input_details()[0]["index"])()
view[...] = 1
interpreter.set_tensor(interpreter.get_input_details()[1]["index"], np.ones_like(view))
try:
    interpreter.invoke()
    ran = True
except RuntimeError:
    ran = False
del view
interpreter.invoke()
np.savez("results.npz", ran=ran, last=interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
