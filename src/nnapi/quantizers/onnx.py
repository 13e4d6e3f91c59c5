"""Quantize .onnx files with ONNX Runtime."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.host.without_telemetry import import_onnxruntime
from nnapi.quantizers import Samples, Scheme
from nnapi.store.temporary import temporary_folder

SCHEMES = (Scheme.STATIC, Scheme.DYNAMIC)


def quantize(file: Path, scheme: Scheme, samples: Samples) -> bytes:
    need(scheme in SCHEMES, f"{file.name}: .onnx files have the schemes {' and '.join(SCHEMES)}", BadDataError)
    import_onnxruntime()
    import onnxruntime.quantization as library
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with temporary_folder("quantize") as folder, _quiet():
        prepared, target = Path(folder) / "prepared.onnx", Path(folder) / "quantized.onnx"
        quant_pre_process(file, prepared, skip_symbolic_shape=True)
        if scheme is Scheme.DYNAMIC:
            library.quantize_dynamic(prepared, target, per_channel=True)
        else:
            library.quantize_static(
                prepared,
                target,
                _make_reader(library.CalibrationDataReader, file, samples),
                quant_format=library.QuantFormat.QDQ,
                per_channel=True,
                activation_type=library.QuantType.QInt8,
                weight_type=library.QuantType.QInt8,
            )
        return target.read_bytes()


def _make_reader(base: Any, file: Path, samples: Samples) -> Any:
    """Return the samples as ONNX Runtime reads them: one dictionary of arrays by name after the other."""
    import onnx

    graph = onnx.load(file, load_external_data=False).graph
    constants = {each.name for each in graph.initializer}
    types = {
        each.name: onnx.helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type)
        for each in graph.input
        if each.name not in constants
    }

    class Reader(base):  # type: ignore[misc]  # the library has no types
        def __init__(self) -> None:
            self.rest = iter(samples)

        def get_next(self) -> dict[str, Any] | None:
            arrays = next(self.rest, None)
            if arrays is None:
                return None
            named = zip(types.items(), arrays, strict=True)
            return {name: np.asarray(array, dtype) for (name, dtype), array in named}

    return Reader()


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide the warnings that ONNX Runtime's quantizer logs."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)
