"""``python -m nnapi.onnx program.py …``: a program for ONNX Runtime, unchanged, with this library's session."""

from __future__ import annotations

from argparse import REMAINDER, ArgumentParser

from nnapi import onnx, stand_in

INSIDE = (
    *("Fail", "InvalidArgument", "InvalidProtobuf", "NoSuchFile", "NotImplemented"),
    *("OrtMemoryInfo", "OrtValueVector"),
)
"""Names that programs import from ONNX Runtime's compiled module."""


def main() -> None:
    """Run the program that the command line names."""
    parser = ArgumentParser("python -m nnapi.onnx", description=__doc__)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=REMAINDER)
    options = parser.parse_args()
    ours = {name: getattr(onnx, name) for name in onnx.__all__}
    stand_in.put_in_place("onnxruntime", ours)
    stand_in.put_in_place("onnxruntime.capi.onnxruntime_pybind11_state", {name: getattr(onnx, name) for name in INSIDE})
    stand_in.run_program(options.program, options.arguments)


if __name__ == "__main__":
    main()
