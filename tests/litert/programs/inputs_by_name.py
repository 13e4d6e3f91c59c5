"""inputs_by_name.py MODEL: inputs found by their names, whatever their order."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(model_path=sys.argv[1])
interpreter.allocate_tensors()
indices = {details["name"]: details["index"] for details in interpreter.get_input_details()}
interpreter.set_tensor(indices["y"], np.full((2, 3), 2, np.float32))
interpreter.set_tensor(indices["x"], np.arange(6, dtype=np.float32).reshape(2, 3))
interpreter.invoke()
results = {details["name"]: interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()}
np.savez("results.npz", **results)
