"""read_digits.py MODEL: rows of a picture one after the other through a recurrent network, anew for each picture."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1])
interpreter.allocate_tensors()
entry, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
digits = []
for shift in range(3):
    picture = np.roll(np.tri(28), shift * 5, 1).astype(np.float32)
    if entry["dtype"] == np.int8:
        scale, zero_point = entry["quantization"]
        picture = np.clip(picture / scale + zero_point, -128, 127)
    interpreter.reset_all_variables()
    interpreter.set_tensor(entry["index"], picture.astype(entry["dtype"]).reshape(entry["shape"]))
    interpreter.invoke()
    digits.append(interpreter.get_tensor(result["index"])[0])
np.savez("results.npz", digits=np.array(digits))
