"""The rules of the TFLite exporter beside the canonical ones: operators that only files have, by family."""
