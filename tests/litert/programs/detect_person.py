"""detect_person.py MODEL PICTURE: a small picture with codes of eight bits."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from PIL import Image

interpreter = Interpreter(sys.argv[1])
interpreter.allocate_tensors()
details = interpreter.get_input_details()[0]
image = np.asarray(Image.open(sys.argv[2]).convert("RGB").resize((96, 96))).astype(int) - 128
interpreter.set_tensor(details["index"], image.astype(np.int8)[np.newaxis])
interpreter.invoke()
np.savez("results.npz", codes=interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
