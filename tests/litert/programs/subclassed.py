"""subclassed.py MODEL: an interpreter that counts its runs."""

import sys
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter


class Counting(Interpreter):
    """Counts."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.runs = 0

    def invoke(self) -> None:
        super().invoke()
        self.runs += 1


interpreter = Counting(model_path=sys.argv[1], num_threads=1)
interpreter.allocate_tensors()
for _ in range(3):
    interpreter.invoke()
np.savez("results.npz", runs=interpreter.runs)
