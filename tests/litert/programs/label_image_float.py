"""label_image_float.py MODEL PICTURE: the same for a float model, which wants numbers from -1 to 1."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from PIL import Image

interpreter = Interpreter(sys.argv[1])
interpreter.allocate_tensors()
details = interpreter.get_input_details()[0]
image = Image.open(sys.argv[2]).convert("RGB").resize(tuple(details["shape"][1:3]))
data = np.array(image, details["dtype"])[np.newaxis]
if details["dtype"] == np.float32:
    data = (data - 127.5) / 127.5
interpreter.set_tensor(details["index"], data)
interpreter.invoke()
probabilities = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]
np.savez("results.npz", probabilities=probabilities, order=np.argsort(-probabilities)[:3])
