"""Parameters of convolutions: declarations, normalized arguments, checks of bias and scales."""

from collections.abc import Sequence

from nnapi.codes import OperandCode
from nnapi.errors import OpFailedError, need
from nnapi.model.operand import OperandType, as_float32
from nnapi.model.operation import Arguments, Facet, Overload
from nnapi.model.parameter import Scalar, Slot, Tensor, positive
from nnapi.ops.shapes import normalize_windows
from nnapi.ops.signature_types import BIAS, FILTER, QUANT8, reals

INT32 = OperandCode.INT32


def declare_filter(channel: int, level: int = 1, *, late_rank: bool = True) -> tuple[Slot, ...]:
    """Declare input, filter and bias; per-channel scales of the filter lie along ``channel``."""
    return (
        Tensor("input", reals(level), rank=4, late_rank=late_rank, image=True),
        Tensor("filter", like="input", via=FILTER, rank=4, late_rank=late_rank, channel=channel, since=level),
        Tensor("bias", like="input", via=BIAS, rank=1, late_rank=True, since=level),
    )


def explicit_padding(level: int = 1) -> tuple[Slot, ...]:
    return tuple(Scalar(name, INT32, since=level) for name in ("pad_left", "pad_right", "pad_top", "pad_bottom"))


def implicit_padding(level: int = 1) -> tuple[Slot, ...]:
    return (Scalar("padding_scheme", INT32, since=level),)


def strides(level: int = 1) -> tuple[Slot, ...]:
    return tuple(Scalar(name, INT32, since=level, check=positive) for name in ("stride_w", "stride_h"))


DILATION = tuple(Scalar(name, INT32, since=3, default=1, check=positive) for name in ("dilation_w", "dilation_h"))


def normalize_convolution(arguments: Arguments) -> Arguments:
    arguments = dict(arguments)
    dilation = (arguments.pop("dilation_h", 1), arguments.pop("dilation_w", 1))
    size = arguments["filter"].shape[1:3]
    arguments = normalize_windows(arguments, arguments["input"], size, dilation)
    arguments["dilation"] = dilation
    return arguments


def declare_overloads(
    operands: Sequence[Slot], tail: Sequence[Slot], level: int = 1, lengths: Sequence[tuple[int, ...]] = ((), ())
) -> tuple[Overload, ...]:
    paddings = {"explicit_padding": explicit_padding(level), "implicit_padding": implicit_padding(level)}
    return tuple(
        Overload(name, (*operands, *padding, *tail), normalize_convolution, lengths=legal)
        for (name, padding), legal in zip(paddings.items(), lengths, strict=True)
    )


def check_bias(
    bias: OperandType, channels: int, input: OperandType, filter: OperandType, filter_name: str = "filter"
) -> None:
    """Raise OpFailedError unless the bias has ``channels`` elements and the scale input scale × filter scale."""
    if bias.dimensions != (channels,):
        raise OpFailedError(f"bias has shape {list(bias.shape)}, must be [{channels}]")
    if input.is_quantized and not filter.channel:
        product = as_float32(input.scale * filter.scale)
        if not abs(product - bias.scale) <= 1e-6 * min(product, bias.scale):
            raise OpFailedError(
                f"bias has scale {bias.scale:g}, must be input scale × {filter_name} scale = {product:g}"
            )


def need_groups(groups: int, depth: int, filter_depth: int, channels: int) -> None:
    """Raise OpFailedError unless the filter has the input's depth of one group, and as many channels for each group."""
    need(
        depth == groups * filter_depth,
        f"filter has depth {filter_depth}, must be the {depth} of input divided by {groups} groups",
    )
    need(channels % groups == 0, f"filter has {channels} channels, which {groups} groups do not divide")


def scale_facet(input: OperandType, filter: OperandType, out: OperandType) -> Facet | None:
    """Before level 3, the output scale had to be above input scale × filter scale."""
    if input.code == QUANT8 and not filter.channel and out.scale <= as_float32(input.scale * filter.scale):
        return Facet(3, "out has a scale not above input scale × filter scale")
    return None
