"""find_anomalies.py MODEL: how badly an autoencoder rebuilds each of several windows of numbers."""

import sys

import numpy as np
from ai_edge_litert import interpreter as tflite

interpreter = tflite.Interpreter(model_path=sys.argv[1])
interpreter.allocate_tensors()
entry, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
windows = np.sin(np.arange(5 * 640).reshape(5, 1, 640) / 37).astype(np.float32) * 3 - 4
errors = []
for window in windows:
    interpreter.set_tensor(entry["index"], window)
    interpreter.invoke()
    errors.append(float(np.mean((window - interpreter.get_tensor(result["index"])) ** 2)))
np.savez("results.npz", errors=np.array(errors))
