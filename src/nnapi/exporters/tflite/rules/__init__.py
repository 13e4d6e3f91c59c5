"""The rules of the exporter, by family; importing this package registers them."""

from nnapi.exporters.tflite.rules import elementwise, images, matrices, movement

__all__ = ["elementwise", "images", "matrices", "movement"]
