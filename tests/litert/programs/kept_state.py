"""kept_state.py MODEL: a stream through a model that remembers, then the same after it has forgotten."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1])
interpreter.allocate_tensors()
entry, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
stream = np.random.default_rng(5).normal(size=(5, *entry["shape"])).astype(np.float32)
heard = []
for _ in range(2):
    interpreter.reset_all_variables()
    for frame in stream:
        interpreter.set_tensor(entry["index"], frame)
        interpreter.invoke()
        heard.append(interpreter.get_tensor(result["index"]))
np.savez("results.npz", heard=heard)
