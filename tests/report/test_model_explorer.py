"""Node data for Model Explorer."""

from __future__ import annotations

import numpy as np

import nnapi
from nnapi.report.model_explorer import COLORS, node_data


def test_devices_by_the_names_of_results() -> None:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", (2, 3)), name="x")
    y = builder.relu(builder.add(x, np.ones((2, 3), np.float32), name="sum"))
    builder.output(builder.mul(y, x, name="product"))
    data = node_data(nnapi.compile(builder.finish(), "nnapi-reference").plan)
    node = {"value": "nnapi-reference", "bgColor": COLORS[0], "textColor": "#000000"}
    assert data["results"] == {"sum": node, "relu_1": node, "product": node}
    assert data["name"] == "nnapi: devices"
