"""Quantize .tflite files with ai-edge-quantizer."""

import io
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from itertools import islice
from pathlib import Path
from typing import Any

from nnapi.drivers.litert.quiet import hide_delegate_message
from nnapi.errors import BadDataError, need
from nnapi.quantizers import Samples, Scheme

RECIPES = {
    Scheme.STATIC: "static_wi8_ai8",
    Scheme.STATIC_16: "static_wi8_ai16",
    Scheme.DYNAMIC: "dynamic_wi8_afp32",
    Scheme.WEIGHTS: "weight_only_wi8_afp32",
}
FLOAT16 = 1
"""The type of a tensor, in the schema."""
KEY = b"serving_default"
AT_ONCE = 16
"""Samples that are in memory at once."""


def quantize(file: Path, scheme: Scheme, samples: Samples) -> bytes:
    from ai_edge_quantizer import quantizer, recipe

    content, names = _prepare(file.read_bytes())
    made = quantizer.Quantizer(content, getattr(recipe, RECIPES[scheme])())
    with _quiet():
        found = _calibrate(made, names, samples) if made.need_calibration else None
        return bytes(made.quantize(found, enable_progress_bar=False, enable_progress_report=False).quantized_model)


def _calibrate(made: Any, names: Sequence[str], samples: Samples) -> Any:
    """Return the ranges of all tensors. The quantizer keeps the samples of a call in memory, so it gets a few at a
    time; each call continues from the result of the one before."""
    found, rest = None, iter(samples)
    while some := [dict(zip(names, arrays, strict=True)) for arrays in islice(rest, AT_ONCE)]:
        found = made.calibrate({KEY.decode(): some}, found, num_threads=len(os.sched_getaffinity(0)))
    return found


def _prepare(content: bytes) -> tuple[bytes, list[str]]:
    """Return the file with what the quantizer expects, and the names of the inputs in its signature.

    Old files number an operator only in `deprecated_builtin_code`, so the quantizer would take all operators for ADD.
    It also needs a signature, and data for every signature, so the file gets exactly one.
    """
    from ai_edge_litert.tools import flatbuffer_utils

    model = flatbuffer_utils.read_model_from_bytearray(bytearray(content))
    halves = [each for graph in model.subgraphs for each in graph.tensors if each.type == FLOAT16]
    need(
        not halves,
        "it has float16 tensors, which AI Edge Quantizer does not support: nnapi export MODEL -o COPY.tflite writes "
        "them as float32",
        BadDataError,
    )
    for code in model.operatorCodes:
        code.builtinCode = max(code.builtinCode, code.deprecatedBuiltinCode)
    names = _sign(model)
    return bytes(flatbuffer_utils.convert_object_to_bytearray(model)), names


def _sign(model: Any) -> list[str]:
    """Make a signature of the main graph the model's only one; return the names of its inputs in the graph's order."""
    main = model.subgraphs[0]
    wanted = set(main.inputs)
    complete = (
        each
        for each in model.signatureDefs or ()
        if each.subgraphIndex == 0 and {one.tensorIndex for one in each.inputs or ()} == wanted
    )
    signature = next(complete, None) or _make_signature(main)
    signature.signatureKey = KEY
    model.signatureDefs = [signature]
    names = {each.tensorIndex: each.name for each in signature.inputs}
    return [names[index].decode() for index in main.inputs]


def _make_signature(main: Any) -> Any:
    from ai_edge_litert.schema_py_generated import SignatureDefT, TensorMapT

    made = SignatureDefT()
    made.subgraphIndex = 0
    made.inputs, made.outputs = [], []
    for side, indices, named in (("input", main.inputs, made.inputs), ("output", main.outputs, made.outputs)):
        for position, index in enumerate(indices):
            tensor = TensorMapT()
            tensor.name, tensor.tensorIndex = f"{side}_{position}".encode(), index
            named.append(tensor)
    return made


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide the progress bar and the warnings of the quantizer, and LiteRT's message. Standard output stays, because the
    caller may show its own progress there."""
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()), hide_delegate_message():
        warnings.simplefilter("ignore")
        yield
