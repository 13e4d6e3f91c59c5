"""The rules of the ONNX exporter, by family; importing this package registers them."""

from nnapi.exporters.onnx.rules import convolution, elementwise, images, matmul, movement, reduction

__all__ = ["convolution", "elementwise", "images", "matmul", "movement", "reduction"]
