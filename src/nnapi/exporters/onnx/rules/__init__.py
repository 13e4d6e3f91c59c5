"""The rules of the ONNX exporter, by family; importing this package registers them."""

from nnapi.exporters.onnx.rules import elementwise, images, matrices, movement, reduction

__all__ = ["elementwise", "images", "matrices", "movement", "reduction"]
