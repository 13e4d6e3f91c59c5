"""measure_latency.py MODEL: how long a run takes, after some to warm up."""

import sys
import time

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1], num_threads=1)
interpreter.allocate_tensors()
details = interpreter.get_input_details()[0]
data = np.random.default_rng(1).normal(size=details["shape"]).astype(details["dtype"])
interpreter.set_tensor(details["index"], data)
times = []
for _ in range(10):
    begin = time.perf_counter()
    interpreter.invoke()
    times.append(time.perf_counter() - begin)
print(f"{np.median(times) * 1e3:.3f} ms")
np.savez("results.npz", last=interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
