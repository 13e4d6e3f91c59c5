"""A quantized network that several tests share."""

import numpy as np

import nnapi


def build_network() -> nnapi.Model:
    """Return a convolution with RELU6, of which not all values of the result's type are within 0 and 6, and a
    RESHAPE."""
    random = np.random.default_rng(0)
    net = nnapi.Builder("network")
    image = net.input(nnapi.tensor("uint8", (1, 8, 8, 3), 0.02, 128))
    weights = random.integers(0, 256, (4, 3, 3, 3)).astype(np.uint8)
    filter = net.constant(weights, nnapi.tensor("uint8", (4, 3, 3, 3), 0.01, 128))
    bias = net.constant(np.arange(4, dtype=np.int32), nnapi.tensor("int32", (4,), 0.0002))
    made = net.conv_2d(image, filter, bias, "same", 1, 1, "relu6", scale=0.05, zero_point=10, name="features")
    net.output(net.reshape(made, [1, 256]))
    return net.finish()
