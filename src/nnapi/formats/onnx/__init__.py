"""The messages of ONNX files."""
