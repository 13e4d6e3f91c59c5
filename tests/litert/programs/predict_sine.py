"""predict_sine.py MODEL: the hello world of TensorFlow Lite, quantized by hand, one number at a time."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(model_path=sys.argv[1])
interpreter.allocate_tensors()
entry, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
in_scale, in_zero = entry["quantization"]
codes = []
for x in np.linspace(0, 2 * np.pi, 20):
    interpreter.set_tensor(entry["index"], np.array([[x / in_scale + in_zero]]).astype(entry["dtype"]))
    interpreter.invoke()
    codes.append(interpreter.get_tensor(result["index"])[0, 0])
np.savez("results.npz", codes=np.array(codes))
