"""``python -m nnapi.onnx program.py …`` runs an unchanged program for ONNX Runtime with this library's session."""

from __future__ import annotations

from argparse import REMAINDER, ArgumentParser

from nnapi import drop_in, onnx

INSIDE = (
    *("Fail", "InvalidArgument", "InvalidProtobuf", "NoSuchFile", "NotImplemented"),
    *("OrtMemoryInfo", "OrtValueVector"),
)
"""Names that programs import from ONNX Runtime's compiled module."""


def main() -> None:
    parser = ArgumentParser("python -m nnapi.onnx", description=__doc__)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=REMAINDER)
    options = parser.parse_args()
    ours = {name: getattr(onnx, name) for name in onnx.__all__}
    drop_in.replace_module("onnxruntime", ours)
    drop_in.replace_module(
        "onnxruntime.capi.onnxruntime_pybind11_state", {name: getattr(onnx, name) for name in INSIDE}
    )
    drop_in.run_program(options.program, options.arguments)


if __name__ == "__main__":
    main()
