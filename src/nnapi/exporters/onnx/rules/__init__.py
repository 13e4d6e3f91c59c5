"""The rules of the ONNX exporter, by family."""

from nnapi.lowering.lower import import_rules

import_rules(__name__, __path__)
