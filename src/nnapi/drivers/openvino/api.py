"""OpenVINO's Python API, ``ov``, and its operations, ``op``. All modules of this driver import them from here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nnapi.host.without_telemetry import import_openvino

if TYPE_CHECKING:
    import openvino as ov
    import openvino.opset15 as op
else:
    ov, op = import_openvino(), import_openvino("openvino.opset15")
    # The bindings make a table of types at the first use of a tensor's memory. Made here, it outlives nnapi's exit
    # handlers, which run before destructors that were registered earlier.
    _ = ov.Tensor(ov.Type.f32, ov.Shape([1])).data

__all__ = ["make_constant", "op", "ov"]


def make_constant(array: Any, *, is_shared: bool = False) -> Any:
    """Return a constant node as ``op.constant`` does, which first looks for the overload that takes the arguments: ten
    times as long."""
    return ov.op.Constant(array, shared_memory=is_shared)
