"""A quantized network that several tests share."""

import nnapi


def build_network() -> nnapi.Model:
    """Return ADD, HARD_SWISH and SOFTMAX, with an unspecified batch. HARD_SWISH takes several operators in .tflite."""
    net = nnapi.Builder("network")
    x = net.input(nnapi.tensor("int8", (0, 4), 0.1, 0), name="x")
    added = net.add(x, x, scale=0.2, zero_point=0, name="added")
    net.output(net.softmax(net.hard_swish(added, scale=0.2, zero_point=0), 1.0))
    return net.finish()
