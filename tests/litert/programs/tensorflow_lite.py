"""tensorflow_lite.py MODEL: by TensorFlow's own name."""

import sys

import numpy as np

try:
    import tensorflow as tf

    Interpreter = tf.lite.Interpreter
except ImportError:
    from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(model_path=sys.argv[1])
interpreter.allocate_tensors()
interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.array([[-9, 8, -7, 6]], np.int8))
interpreter.invoke()
np.savez("results.npz", row=interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
