"""Compare random .onnx files of one operator with indices in nnapi and in ONNX Runtime.

    python -m benchmarks.onnx_indices [--models N] [--seed S] [--device NAME]

What ONNX Runtime refuses, such as indices out of range, nnapi must refuse too; else the results must be equal, in the
order of equal elements too. The program prints the first difference of each operator; the exit code is 1 if there is
one.
"""

import argparse
import sys

import numpy as np
import onnxruntime

import nnapi
from tests.random_onnx import KINDS, Array, Node, random_node

SILENT = 4
"""ONNX Runtime's level of log messages: only fatal errors."""


def run_onnxruntime(node: Node) -> list[Array] | None:
    """Return ONNX Runtime's results; None if it refuses the inputs."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = SILENT
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(node.content, options, providers=["CPUExecutionProvider"])
    try:
        outputs: list[Array] = session.run(None, node.feeds)
    except Exception:  # its errors have no common base class
        return None
    return outputs


def compare(node: Node, device: str) -> str:
    """Return the difference between nnapi and ONNX Runtime; empty if there is none or nnapi refuses the file."""
    expected = run_onnxruntime(node)
    try:
        compilation = nnapi.compile(nnapi.load(node.content), device, cache=False)
        inputs = [array.astype(np.int32) if array.dtype == np.int64 else array for array in node.feeds.values()]
        found = compilation.run(*inputs)
    except nnapi.NnapiError as error:
        return f"refuses what ONNX Runtime computes: {error}" if expected is not None and _has_run(error) else ""
    if expected is None:
        return "computes what ONNX Runtime refuses"
    for position, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        if ours.shape != theirs.shape or not np.array_equal(ours, theirs):
            return f"output {position} is {ours.tolist()}, in ONNX Runtime {theirs.tolist()}"
    return ""


def _has_run(error: nnapi.NnapiError) -> bool:
    """Return whether an error came from the inputs, not from a file or device that nnapi refuses."""
    return not isinstance(error, nnapi.BadDataError)


def main(models: int, seed: int, device: str) -> int:
    differing: dict[str, str] = {}
    for number in range(models):
        kind = KINDS[number % len(KINDS)]
        if kind not in differing and (
            found := compare(random_node(kind, np.random.default_rng([seed, number])), device)
        ):
            differing[kind] = f"model {number}: {found}"
            print(f"{kind}: {differing[kind]}")
    print(f"{device}, seed {seed}: {models} models, {len(differing)} of {len(KINDS)} operators differ")
    return bool(differing)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="nnapi-reference")
    sys.exit(main(**vars(parser.parse_args())))
