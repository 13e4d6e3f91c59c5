"""The public conformance examples of the Android Neural Networks API, for ``nnapi check``."""
