"""several_signatures.py MODEL: every signature by its name, with what it says of its ends."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(model_path=sys.argv[1])
results = {}
for key, ends in interpreter.get_signature_list().items():
    runner = interpreter.get_signature_runner(key)
    described = runner.get_input_details()
    inputs = {
        name: np.full(described[name]["shape"], 2 + place, described[name]["dtype"])
        for place, name in enumerate(ends["inputs"])
    }
    for name, value in runner(**inputs).items():
        results[f"{key}_{name}"] = value
        results[f"{key}_{name}_shape"] = runner.get_output_details()[name]["shape"]
np.savez("results.npz", **results)
