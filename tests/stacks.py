"""Networks of convolutions, for tests of what engines tell of each."""

import numpy as np

from nnapi import Builder, Model, OperandType


def convolutions(image: OperandType, count: int) -> Model:
    """Convolutions of 3 × 3 one after the other, as deep as the image, RELU between them, named y0, y1, …"""
    rng, depth = np.random.default_rng(1), image.dimensions[3]
    builder = Builder()
    x = builder.input(image, name="x")
    for number in range(count):
        filter = rng.normal(0, 0.1, (depth, 3, 3, depth)).astype(np.float32)
        x = builder.conv_2d(x, filter, np.zeros(depth, np.float32), "same", 1, 1, "relu", name=f"y{number}")
    builder.output(x)
    return builder.finish()
