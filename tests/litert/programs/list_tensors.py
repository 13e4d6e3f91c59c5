"""list_tensors.py MODEL: a table of a model's tensors and of its ends."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(model_path=sys.argv[1])
interpreter.allocate_tensors()
ends = [*interpreter.get_input_details(), *interpreter.get_output_details()]
lines = [
    f"{details['index']:3} {details['name']:20} {details['shape']} {details['dtype']} {details['quantization']}"
    for details in [*ends, *interpreter.get_tensor_details()[:4]]
]
np.savez("results.npz", lines=lines)
