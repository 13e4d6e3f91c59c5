"""The rules of the exporter, by family; importing this package registers them."""

from nnapi.exporters.tflite.rules import elementwise, images, lookup, matrices, movement, recurrent

__all__ = ["elementwise", "images", "lookup", "matrices", "movement", "recurrent"]
