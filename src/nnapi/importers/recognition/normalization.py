"""Normalizations of the last axes that files write as several operations."""

from nnapi.codes import OperationCode as O
from nnapi.importers.graph import Step, Value
from nnapi.importers.recognition.pattern import Number, Operand, Pattern, Power, apply, is_constant
from nnapi.importers.recognition.rewriter import Replacement, StepRewriter, pattern
from nnapi.model.operand import Shape
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.shapes import axis_of


def _keeps_axes(step: Step) -> bool:
    return step.inputs[2].array is not None and bool(step.inputs[2].array)


x = Operand("x", lambda value: value.is_float)
gamma, beta, axes = Operand("gamma"), Operand("beta"), Operand("axes", is_constant)
mean_of = apply(O.MEAN, _keeps_axes)


def _inverse_deviation(x: Pattern) -> Power:
    return Power(mean_of(Power(x, 2), axes) + Number("epsilon"), -0.5)


mean = mean_of(x, axes)
centered = x - mean
inverse, inverse_root = _inverse_deviation(centered), _inverse_deviation(x)


@pattern(
    centered * inverse * gamma + beta,
    x * inverse * gamma + (beta - mean * inverse * gamma),
    centered * inverse * gamma,
    centered * inverse,
)
def layer_norm(
    rewriter: StepRewriter, x: Value, axes: Value, epsilon: float, gamma: Value | None = None, beta: Value | None = None
) -> Replacement | None:
    axis = _find_first(x, axes)
    if axis is None:
        return None
    scale, shift = (_fit(rewriter, factor, x, x.shape[axis:]) for factor in (gamma, beta))
    if scale is None or shift is None:
        return None
    return Replacement(Composite.LAYER_NORM, [x, scale, shift, rewriter.i32(axis), rewriter.real(epsilon)])


@pattern(x * inverse_root * gamma, x * inverse_root)
def rms_norm(
    rewriter: StepRewriter, x: Value, axes: Value, epsilon: float, gamma: Value | None = None
) -> Replacement | None:
    axis = _find_first(x, axes)
    if axis is None:
        return None
    factor = _fit(rewriter, gamma, x, x.shape[axis:])
    if factor is None:
        return None
    return Replacement(Composite.RMS_NORM, [x, factor, rewriter.i32(axis), rewriter.real(epsilon)])


def _find_first(x: Value, axes: Value) -> int | None:
    """Return the first of the axes if they are the last ones, of static sizes; else None."""
    found = sorted(axis_of(int(axis), x.rank) for axis in axes.constant.reshape(-1))
    is_last = found == list(range(x.rank - len(found), x.rank)) and bool(found)
    return found[0] if is_last and 0 not in x.shape[found[0] :] else None


def _fit(rewriter: StepRewriter, factor: Value | None, x: Value, group: Shape) -> Value | None:
    """Return a factor that broadcasts to each group, without leading axes; None for a factor of another shape."""
    if factor is None:
        return rewriter.graph.no_value(x.type.code)
    shape = factor.shape
    if len(shape) > len(group):
        outer, shape = shape[: -len(group)], shape[-len(group) :]
        if any(size != 1 for size in outer) or factor.array is None:
            return None
        factor = Value(factor.type.with_dimensions(shape), factor.name, factor.array.reshape(shape), factor.in_file)
    sizes = group[len(group) - len(shape) :]
    return factor if all(own in (1, size) for own, size in zip(shape, sizes, strict=True)) else None
