"""errors_caught.py MODEL: what goes wrong, and is caught by its name."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1])
caught = []
try:
    Interpreter("/no/such/model.tflite")
except ValueError:
    caught.append("no file")
try:
    interpreter.invoke()
except RuntimeError:
    caught.append("not allocated")
interpreter.allocate_tensors()
index = interpreter.get_input_details()[0]["index"]
try:
    interpreter.set_tensor(index, np.zeros((7, 7), np.int8))
except ValueError:
    caught.append("shape")
try:
    interpreter.set_tensor(index, np.zeros((1, 4), np.float64))
except ValueError:
    caught.append("type")
try:
    interpreter.get_tensor(1000)
except ValueError:
    caught.append("index")
try:
    interpreter.resize_tensor_input(index, [3, 4], strict=True)
except RuntimeError:
    caught.append("strict")
try:
    interpreter.get_signature_runner("none")
except ValueError:
    caught.append("signature")
np.savez("results.npz", caught=caught)
