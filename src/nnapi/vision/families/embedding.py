"""Embeddings of pictures or sounds."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.vision.families.family import Family, output_shapes, takes_picture
from nnapi.vision.output_summaries import find_producer
from nnapi.vision.task import Task
from nnapi.vision.view import Hints, Picture, View

FEWEST = 128
POOLINGS = (OperationCode.AVERAGE_POOL_2D, OperationCode.MEAN, OperationCode.L2_NORMALIZATION)


def _view(model: Model, outputs: Sequence[Array], hints: Hints, picture: Picture | None) -> View:
    vector = outputs[0].reshape(-1).astype(np.float64)
    return View(f"{vector.size} dimensions, norm {np.linalg.norm(vector):.4g}", None, {"vector": vector.tolist()})


def _recognizes(model: Model) -> bool:
    """Return whether the input is a picture, and the output is features averaged over it."""
    shapes = output_shapes(model)
    is_vector = len(shapes) == 1 and bool(shapes[0]) and prod(shapes[0]) == shapes[0][-1] >= FEWEST
    return is_vector and takes_picture(model) and find_producer(model) in POOLINGS


EMBEDDING = Family("embedding", Task.EMBEDDING, _recognizes, _view, evidence="its last operation, which averages")
