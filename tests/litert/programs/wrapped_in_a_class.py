"""wrapped_in_a_class.py MODEL: an interpreter inside of a class of the program's own, used many times."""

import sys
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter


class Detector:
    """Calls like a function."""

    def __init__(self, path: str) -> None:
        self._interpreter = Interpreter(path)
        self._interpreter.allocate_tensors()
        self._entry = self._interpreter.get_input_details()[0]["index"]
        self._result = self._interpreter.get_output_details()[0]["index"]

    def __call__(self, row: Any) -> Any:
        self._interpreter.set_tensor(self._entry, row)
        self._interpreter.invoke()
        return self._interpreter.get_tensor(self._result)


detector = Detector(sys.argv[1])
kept = [detector(np.full((1, 4), value, np.int8)) for value in range(-100, 101, 25)]
np.savez("results.npz", kept=kept)
