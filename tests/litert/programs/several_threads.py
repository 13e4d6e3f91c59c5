"""several_threads.py MODEL: an interpreter for each thread, all at work."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import local
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter

own = local()


def compute(row: Any) -> Any:
    if not hasattr(own, "interpreter"):
        own.interpreter = Interpreter(sys.argv[1], num_threads=1)
        own.interpreter.allocate_tensors()
    own.interpreter.set_tensor(own.interpreter.get_input_details()[0]["index"], row[None])
    own.interpreter.invoke()
    return own.interpreter.get_tensor(own.interpreter.get_output_details()[0]["index"])[0]


rows = np.random.default_rng(3).integers(-100, 100, (40, 4)).astype(np.int8)
with ThreadPoolExecutor(3) as pool:
    np.savez("results.npz", rows=list(pool.map(compute, rows)))
