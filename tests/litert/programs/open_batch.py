"""open_batch.py MODEL: batches of whatever size comes, where the model leaves it open."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1])
interpreter.allocate_tensors()
entry, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
assert entry["shape_signature"][0] == -1
results = {}
for size in (1, 4, 2, 4):
    interpreter.resize_tensor_input(entry["index"], [size, 3], strict=True)
    interpreter.allocate_tensors()
    interpreter.set_tensor(entry["index"], np.linspace(-2, 2, 3 * size, dtype=np.float32).reshape(size, 3))
    interpreter.invoke()
    results[f"rows{len(results)}"] = interpreter.get_tensor(result["index"])
np.savez("results.npz", **results)
