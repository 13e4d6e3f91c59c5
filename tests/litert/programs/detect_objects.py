"""detect_objects.py MODEL PICTURE: boxes, classes and scores of what is seen with more than half certainty."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from PIL import Image

THRESHOLD = 0.5

interpreter = Interpreter(model_path=sys.argv[1])
interpreter.allocate_tensors()
_, height, width, _ = interpreter.get_input_details()[0]["shape"]
image = Image.open(sys.argv[2]).convert("RGB").resize((width, height))
interpreter.tensor(interpreter.get_input_details()[0]["index"])()[0] = np.asarray(image)
interpreter.invoke()
boxes, classes, scores, count = (
    np.squeeze(interpreter.get_tensor(details["index"])) for details in interpreter.get_output_details()
)
found = [i for i in range(int(count)) if scores[i] >= THRESHOLD]
np.savez("results.npz", boxes=boxes[found], classes=classes[found], scores=scores[found])
