"""The rules of ONNX operators, in one module per family."""
