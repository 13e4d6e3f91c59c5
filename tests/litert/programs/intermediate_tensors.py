"""intermediate_tensors.py MODEL: what every operator gives, to look into a model."""

import sys
import warnings

import numpy as np
from ai_edge_litert.interpreter import Interpreter

warnings.simplefilter("ignore")
interpreter = Interpreter(model_path=sys.argv[1], experimental_preserve_all_tensors=True)
interpreter.allocate_tensors()
for place, details in enumerate(interpreter.get_input_details()):
    interpreter.set_tensor(details["index"], np.full(details["shape"], place + 1, details["dtype"]))
interpreter.invoke()
values = {details["name"]: interpreter.get_tensor(details["index"]) for details in interpreter.get_tensor_details()}
np.savez("results.npz", **{name: value for name, value in values.items() if name})
