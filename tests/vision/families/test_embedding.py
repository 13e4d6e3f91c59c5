"""Embeddings."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode
from nnapi.vision.families import view_outputs
from nnapi.vision.families.embedding import EMBEDDING
from nnapi.vision.task import Task
from nnapi.vision.view import Hints, View
from tests.vision.family_cases import model_of, model_with_last


def test_embeddings() -> None:
    vector = np.array([[[[3.0, 4.0]]]], np.float32)
    found = view_outputs(model_of(("float32", vector.shape)), [vector], Task.EMBEDDING, Hints(), None)
    assert found == View("2 dimensions, norm 5", data={"vector": [3.0, 4.0]})


def test_features_that_were_averaged_are_one() -> None:
    assert not EMBEDDING.recognizes(model_with_last(OperationCode.LOGISTIC, (1, 1, 1, 1024)))
    assert not EMBEDDING.recognizes(model_of(("float32", (1, 1024))))
