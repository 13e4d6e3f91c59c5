"""The rules of the ONNX exporter, by family."""
