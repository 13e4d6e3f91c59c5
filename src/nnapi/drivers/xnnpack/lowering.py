"""Lower a model for XNNPACK, and replace functions that its fast kernels compute wrongly for finite values.

The kernels flush values below 2**-126 to 0. Roots of large values and sines of large angles are off by half and more,
and LOGISTIC is NaN far from 0. Errors depend on the processor; replacements do not, except that of LOGISTIC.
"""

from collections.abc import Callable
from functools import partial

from nnapi.contract.winograd import FloatWidth, find_float_width
from nnapi.drivers.litert import lowering
from nnapi.drivers.litert.rules.convolution_filters import FilterContext
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.tflite.context import TfliteContext

BEYOND_FAST = 7
"""A rank without fast kernels: the engine then calls the C library's function for each element."""
SATURATED = 128.0
"""Magnitude from which LOGISTIC is 0 or 1 in float32."""
LARGE = 2.0**124
"""Largest value whose square root the engine computes correctly."""


def compute_by_c_library(context: TfliteContext, x: Tensor, out: Tensor, kind: str) -> Tensor:
    """Compute by the C library's function, which is correct for all values and a hundred times slower."""
    shape = (1,) * (BEYOND_FAST - len(x.shape)) + x.shape
    flat = context.emit(kind, [context.reshape(x, shape)], x.like(shape=shape))
    return context.emit("RESHAPE", [flat, constant(out.shape)], out)


def square_root(context: TfliteContext, x: Tensor, out: Tensor) -> Tensor:
    """Return the square root as √min(x, LARGE) · √max(x / LARGE, 1)."""
    usual = context.emit("MINIMUM", [x, context.fill(x, LARGE)], x.like())
    usual = context.emit("SQRT", [usual], x.like())
    beyond = context.emit("MUL", [x, context.fill(x, 1 / LARGE)], x.like(), activation=0)
    beyond = context.emit("MAXIMUM", [beyond, context.fill(x, 1)], x.like())
    beyond = context.emit("SQRT", [beyond], x.like())
    return context.emit("MUL", [usual, beyond], out, activation=0)


def logistic(context: TfliteContext, x: Tensor, out: Tensor) -> Tensor:
    """Return LOGISTIC of values clamped to ±SATURATED. NaN stays NaN if the processor's minimum preserves it. The
    kernel for AVX2 needs no clamp: all values of float32 were tried."""
    if find_float_width() is not FloatWidth.AVX2:
        x = context.emit("MINIMUM", [x, context.fill(x, SATURATED)], x.like())
        x = context.emit("MAXIMUM", [x, context.fill(x, -SATURATED)], x.like())
    return context.emit("LOGISTIC", [x], out)


FUNCTIONS: dict[str, Callable[[TfliteContext, Tensor, Tensor], Tensor]] = {
    **{kind: partial(compute_by_c_library, kind=kind) for kind in ("EXP", "FLOOR", "LOG", "RSQRT", "SIN")},
    "LOGISTIC": logistic,
    "SQRT": square_root,
}
"""Lowerings of functions of float32 values, by operator."""


class XnnpackContext(FilterContext):
    has_xnnpack = True

    def map(self, kind: str, x: Tensor, out: Tensor | None = None) -> Tensor:
        compute = FUNCTIONS.get(kind) if x.type == "f32" else None
        return super().map(kind, x, out) if compute is None else compute(self, x, out or x.like())


class XnnpackLowering(lowering.TfliteLowering):
    context_type = XnnpackContext
    takes_dynamic_range = True
    takes_control_flow = True


lower_model = partial(lowering.lower_model, lowering=XnnpackLowering)
