"""model_content.py MODEL: a model that is bytes, from a network or an archive."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

with open(sys.argv[1], "rb") as file:
    content = file.read()
interpreter = Interpreter(model_content=content)
interpreter.allocate_tensors()
details = interpreter.get_input_details()[0]
interpreter.set_tensor(details["index"], np.arange(4, dtype=np.int8)[None])
interpreter.invoke()
np.savez("results.npz", row=interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
