"""quantize_both_ends.py MODEL: real numbers in and out of a model in codes, by what it says of them."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1])
interpreter.allocate_tensors()
entry, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
parameters = entry["quantization_parameters"]
limits = np.iinfo(entry["dtype"])
real = np.linspace(-1.2, 1.2, 4).reshape(1, 4)
codes = np.round(real / parameters["scales"][0] + parameters["zero_points"][0])
interpreter.set_tensor(entry["index"], np.clip(codes, limits.min, limits.max).astype(entry["dtype"]))
interpreter.invoke()
codes = interpreter.get_tensor(result["index"])
parameters = result["quantization_parameters"]
assert np.isfinite((codes.astype(np.float32) - parameters["zero_points"][0]) * parameters["scales"][0]).all()
np.savez("results.npz", codes=codes, scale=parameters["scales"], zero_point=parameters["zero_points"])
