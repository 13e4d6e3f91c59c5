"""label_image.py MODEL PICTURE LABELS: what a picture shows, as the examples of TensorFlow Lite do it."""

import sys

import numpy as np
from PIL import Image

try:
    from tflite_runtime.interpreter import Interpreter
except ImportError:
    from ai_edge_litert.interpreter import Interpreter

model, picture, labels = sys.argv[1:]
interpreter = Interpreter(model_path=model, num_threads=1)
interpreter.allocate_tensors()
input_details = interpreter.get_input_details()
output_details = interpreter.get_output_details()
_, height, width, _ = input_details[0]["shape"]
image = np.expand_dims(Image.open(picture).convert("RGB").resize((width, height)), 0)
interpreter.set_tensor(input_details[0]["index"], image)
interpreter.invoke()
scores = np.squeeze(interpreter.get_tensor(output_details[0]["index"]))
with open(labels) as file:
    names = [line.strip() for line in file]
for i in scores.argsort()[-5:][::-1]:
    print(f"{scores[i] / 255.0:08.6f}: {names[i]}")
np.savez("results.npz", scores=scores, best=scores.argmax())
