"""The rules of the ONNX exporter, by family; importing this package registers them."""

from nnapi.exporters.onnx.context import RULES
from nnapi.exporters.onnx.rules import elementwise, images, matrices, movement, reduction
from nnapi.lowering import cells

__all__ = ["elementwise", "images", "matrices", "movement", "reduction"]

cells.register(RULES)
