"""resize_batch.py MODEL: several rows at once through a model that was made for one."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1])
entry, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
batch = np.random.default_rng(2).integers(-100, 100, (6, *entry["shape"][1:])).astype(entry["dtype"])
interpreter.resize_tensor_input(entry["index"], batch.shape)
interpreter.allocate_tensors()
interpreter.set_tensor(entry["index"], batch)
interpreter.invoke()
shape = interpreter.get_output_details()[0]["shape"]
np.savez("results.npz", shape=shape, rows=interpreter.get_tensor(result["index"]))
