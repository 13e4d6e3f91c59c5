"""``python -m nnapi.onnx program.py …``: see :mod:`nnapi.drop_in`."""

from nnapi import drop_in

if __name__ == "__main__":
    drop_in.main("onnx")
