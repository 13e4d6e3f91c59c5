"""delegate_if_any.py MODEL: an accelerator where there is one, else without."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter, load_delegate

try:
    interpreter = Interpreter(sys.argv[1], experimental_delegates=[load_delegate("libedgetpu.so.1")])
except (ValueError, OSError):
    print("no accelerator")
    interpreter = Interpreter(sys.argv[1])
interpreter.allocate_tensors()
interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.array([[9, 8, 7, 6]], np.int8))
interpreter.invoke()
np.savez("results.npz", row=interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
