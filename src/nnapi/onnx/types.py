"""ONNX Runtime's names of types."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnapi.importers.onnx.tensors import DTYPES, ELEM_OF, NAMES

TYPES = {elem: f"tensor({NAMES[elem].lower()})" for elem in DTYPES}
"""By TensorProto.DataType."""


def type_of(dtype: np.dtype[Any]) -> str:
    """What ONNX calls a type of NumPy's."""
    elem = ELEM_OF.get(dtype)
    return str(dtype) if elem is None else TYPES[elem]
