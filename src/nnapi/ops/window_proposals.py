"""Proposals of windows of an image: the result's size is drawn first, the image's follows from it."""

from typing import NamedTuple

from nnapi.codes import PaddingCode
from nnapi.model.operand import Shape
from nnapi.model.proposal import Draw
from nnapi.ops.shapes import same_padding

HUGE = 2**31 - 1
WORK = 3_000_000
"""The largest number of multiplications of one call."""


class Axis(NamedTuple):
    """One spatial axis: dimensions of image, window and result, and the window's stride, dilation and padding."""

    dimension: int
    size: int
    stride: int
    dilation: int
    before: int
    after: int
    out: int


def draw_axis(draw: Draw, scheme: int | None, dilates: bool, given: int | None, size: int) -> Axis:
    """Draw one axis for windows of ``size``; ``scheme`` is None for explicit padding, ``given`` the image's dimension
    if it is fixed."""
    out = draw.pick(1, 1, 1, 2, 3, 4, 5, 7, 8, 13, 17, 31)
    stride = draw.pick(1, 1, 1, 2, 2, 3, 4, 5, 8)
    dilation = draw.pick(1, 1, 1, 2, 3, 5) if dilates else 1
    reach = (size - 1) * dilation + 1
    before, after = (0, 0) if scheme else (draw.pick(0, draw.upto(reach - 1)), draw.pick(0, draw.upto(reach - 1)))
    if given is not None:
        dimension = given
    elif scheme == PaddingCode.PADDING_SAME:
        dimension = (out - 1) * stride + 1 + draw.upto(stride - 1)
    else:
        dimension = max(1, (out - 1) * stride + reach - before - after + draw.pick(0, draw.upto(stride - 1)))
    if dilates and size == 1 and draw.chance(0.03):
        dilation = draw.pick(HUGE, 2**20)
    if out == 1 and given is None and draw.chance(0.03):
        stride = HUGE
    if scheme == PaddingCode.PADDING_SAME:
        before, after = same_padding(dimension, size, stride, dilation)
    out = max(1, (dimension + before + after - reach) // stride + 1)
    return Axis(dimension, size, stride, dilation, before, after, out)


class Windows(NamedTuple):
    image: Shape
    rows: Axis
    columns: Axis

    @property
    def cost(self) -> int:
        return self.rows.size * self.columns.size * self.rows.out * self.columns.out


def draw_windows(draw: Draw, channels: int) -> Windows:
    """Draw both axes and an NHWC image with ``channels``; set the overload's scalars in the proposal."""
    dilates = "dilation_w" in draw.names
    proposal, scheme = draw.proposal, draw.padding_scheme()
    draw.draw_layout()
    given = draw.given_image()
    n, h, w, channels = given or (draw.pick(1, 1, 1, 2, 3), None, None, channels)
    is_point = draw.chance(draw.points)
    sizes = [1 if is_point else draw.pick(1, 1, 2, 3, 3, 4, 5, 7) for _ in "hw"]
    rows, columns = (draw_axis(draw, scheme, dilates, *axis) for axis in zip((h, w), sizes, strict=True))
    windows = Windows((n, rows.dimension, columns.dimension, channels), rows, columns)
    proposal.shapes["input"] = draw.store(windows.image)
    for name, axis in (("h", rows), ("w", columns)):
        proposal.scalars[f"stride_{name}"] = axis.stride
        if dilates:
            proposal.scalars[f"dilation_{name}"] = axis.dilation
    if scheme is None:
        proposal.scalars |= {"pad_top": rows.before, "pad_bottom": rows.after}
        proposal.scalars |= {"pad_left": columns.before, "pad_right": columns.after}
    return windows


def most_channels(windows: Windows, each: int = 1) -> int:
    """Return the largest number of channels, at most 256, that keeps the amount of computation within WORK."""
    elements = windows.image[0] * max(windows.cost, windows.rows.dimension * windows.columns.dimension // 8) * each
    return max(1, min(256, WORK // max(1, elements)))
