"""find_faces.py MODEL PICTURE: the anchors at which a face is likely."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from PIL import Image

interpreter = Interpreter(model_path=sys.argv[1], num_threads=2)
interpreter.allocate_tensors()
_, height, width, _ = interpreter.get_input_details()[0]["shape"]
image = np.asarray(Image.open(sys.argv[2]).convert("RGB").resize((width, height)), np.float32)
interpreter.set_tensor(0, image[None] / 127.5 - 1)
interpreter.invoke()
results = {
    details["shape"][-1]: interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()
}
scores = 1 / (1 + np.exp(-np.clip(results[1][0, :, 0], -100, 100)))
best = np.argsort(-scores)[:4]
np.savez("results.npz", scores=scores[best], points=results[16][0, best])
