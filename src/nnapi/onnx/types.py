"""ONNX Runtime's names of types."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnapi.importers.onnx.tensors import DTYPES, ELEM_OF, NAMES
from nnapi.onnx.failures import InvalidArgument

TYPES = {elem: f"tensor({NAMES[elem].lower()})" for elem in DTYPES}
"""By TensorProto.DataType."""


def dtype_from(element_type: Any) -> np.dtype[Any]:
    """Return NumPy's type for one of its own, or for a number of TensorProto.DataType, else raise InvalidArgument."""
    if not isinstance(element_type, int):
        dtype: np.dtype[Any] = np.dtype(element_type)
        return dtype
    if element_type not in DTYPES:
        raise InvalidArgument(f"element type {element_type} is not one that NNAPI has")
    return DTYPES[element_type]


def type_of(dtype: np.dtype[Any]) -> str:
    """Return ONNX's name of a type of NumPy's."""
    elem = ELEM_OF.get(dtype)
    return str(dtype) if elem is None else TYPES[elem]
