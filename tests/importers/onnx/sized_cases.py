"""Models in ONNX for given arrays, whose results have dimensions that depend on data."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from onnx import helper, numpy_helper


def make_sized(nodes: list[Any], inputs: dict[str, Any], outputs: Iterable[str], **constants: Any) -> Any:
    """Return a model whose inputs have the types and shapes of ``inputs``; its outputs declare neither."""
    elems = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in inputs.items()}
    graph = helper.make_graph(
        nodes,
        "sized",
        [helper.make_tensor_value_info(name, elems[name], array.shape) for name, array in inputs.items()],
        [helper.make_tensor_value_info(name, 1, None) for name in outputs],
        [numpy_helper.from_array(np.array(array), name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
