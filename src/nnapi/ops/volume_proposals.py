"""Random windows over volumes: the result's size is drawn first, the volume's follows from it."""

import numpy as np

from nnapi.model.operand import Shape
from nnapi.model.proposal import Draw

LARGEST = 20_000
"""The largest number of elements of a volume."""


def draw_windows(draw: Draw, channels: int, *, dilates: bool = False) -> tuple[Shape, list[int]]:
    """Propose a volume with its windows; return its dimensions and the size of the windows."""
    given = draw.need_rank(5)
    size, strides, dilations, paddings, volume = [], [], [], [], []
    for axis in range(3):
        window, stride = draw.pick(1, 1, 2, 3, 3, 4), draw.pick(1, 1, 2, 3)
        dilation = draw.pick(1, 1, 2) if dilates else 1
        reach = (window - 1) * dilation + 1
        around = [draw.pick(0, draw.upto(reach - 1)) for _ in range(2)]
        count = draw.pick(1, 2, 3, 5)
        cells = max(1, (count - 1) * stride + reach - sum(around) + draw.upto(stride - 1))
        volume.append(given[1 + axis] if given else cells)
        size.append(window)
        strides.append(stride)
        dilations.append(dilation)
        paddings.append(around)
    n = draw.pick(1, 1, 2)
    shape = given or draw.bound((n, *volume, channels), LARGEST)
    draw.proposal.shapes["input"] = shape
    draw.proposal.numbers |= {"paddings": np.array(paddings, np.int32), "strides": np.array(strides, np.int32)}
    if dilates:
        draw.proposal.numbers["dilations"] = np.array(dilations, np.int32)
    return shape, size
