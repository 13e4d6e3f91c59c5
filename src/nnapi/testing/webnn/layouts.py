"""The layouts and axes of WebNN's operators, with their defaults."""

from nnapi.testing.webnn.cases import Case


def input_layout(case: Case) -> str:
    """Return the layout of an image, ``nchw`` or ``nhwc``."""
    return str(case.options.get("inputLayout") or case.options.get("layout") or "nchw")


def filter_layout(case: Case) -> str:
    return str(case.options.get("filterLayout") or ("iohw" if case.operator == "convTranspose2d" else "oihw"))


def reduced_axes(case: Case) -> list[int]:
    """Return the axes that a reduction removes, by default all."""
    axes = case.options.get("axes")
    rank = case.inputs[case.arguments["input"]].ndim
    return list(range(rank)) if axes is None else list(axes)
