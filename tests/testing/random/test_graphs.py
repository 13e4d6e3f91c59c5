"""What random graphs contain often enough."""

import numpy as np

from nnapi.testing.example import Example
from nnapi.testing.random.graphs import random_graph


def test_codes_that_mean_0_reach_functions_that_end_there() -> None:
    """An engine that dequantised 0 to -1e-5 was not found out for want of them."""
    graphs = [random_graph(np.random.default_rng([5, number]), 2) for number in range(300)]
    assert sum(map(_takes_roots_of_zero, graphs)) >= 3


def _takes_roots_of_zero(example: Example) -> bool:
    main = example.main
    for call in main.operations:
        codes = example.inputs.get(call.inputs[0])
        if call.type != "DEQUANTIZE" or codes is None or not np.any(codes == main.operands[call.inputs[0]].zero_point):
            continue
        if any(each.type in ("LOG", "RSQRT", "SQRT") and each.inputs[0] == call.outputs[0] for each in main.operations):
            return True
    return False
