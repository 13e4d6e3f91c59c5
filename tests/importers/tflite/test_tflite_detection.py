"""Suppression of overlapping boxes by indices, against LiteRT."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflite

import nnapi
from benchmarks.detections import compare
from tests.importers.tflite.against_litert import Case, agree, case, litert, loaded, run
from tests.importers.tflite.efficientdet_cases import MOST, POST_PROCESS, EfficientDet
from tests.tflite_writer import T, const, f32, i32


def suppress(limit: int, overlap: float, least: float, *sigma: float) -> Case:
    kind = "NON_MAX_SUPPRESSION_V5" if sigma else "NON_MAX_SUPPRESSION_V4"
    outputs = [i32(limit), *(f32(limit) for _ in sigma), i32()]
    numbers = [const(number, "FLOAT32") for number in (overlap, least, *sigma)]
    return case(kind, [f32(40, 4), f32(40), const(limit), *numbers], outputs)


def draw(seed: int) -> list[Any]:
    """Boxes with any two opposite corners, some the same and some half of another. LiteRT has no order for equal
    scores, and repeats boxes without area."""
    random = np.random.default_rng(seed)
    boxes = random.random((40, 4)).astype(np.float32)
    boxes[10:20] = boxes[:10]
    boxes[20:25], boxes[25:30] = [0, 0, 1, 1], [0, 0, 0.5, 1]
    return [boxes, (random.permutation(40) / 40).astype(np.float32)]


@pytest.mark.parametrize(
    "given", [(10, 0.5, 0.0), (40, 0.2, 0.3), (5, 1.0, 0.95), (40, 0.0, -1.0), (10, 0.5, 0.0, 0.0), (7, 0.3, 2.0, 0.0)]
)
def test_indices_scores_and_number(given: tuple[Any, ...], tmp_path: Path) -> None:
    one = suppress(*given)
    model = loaded(one.content(), tmp_path)
    for seed in range(3):
        arrays = draw(seed)
        agree(run(model, arrays), litert(one.content(), arrays), one)


def test_boxes_that_follow_are_gathered(tmp_path: Path) -> None:
    from tests.tflite_writer import Graph, write

    boxes, scores, indices, count = f32(40, 4), f32(40), i32(6), T("INT32")
    chosen, graph = f32(6, 4), Graph()
    numbers = [const(6), const(0.5, "FLOAT32"), const(0.1, "FLOAT32")]
    graph.operator("NON_MAX_SUPPRESSION_V4", [boxes, scores, *numbers], [indices, count])
    graph.operator("GATHER", [boxes, indices], [chosen], "GatherOptions")
    content = write(graph.between([boxes, scores], [chosen, count]))
    arrays = draw(5)
    for ours, theirs in zip(run(loaded(content, tmp_path), arrays), litert(content, arrays), strict=True):
        np.testing.assert_array_equal(ours, theirs.reshape(ours.shape))


@pytest.mark.engine
@pytest.mark.parametrize("ending", [POST_PROCESS, "NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5"])
def test_networks_with_the_layout_of_efficientdet(ending: str, tmp_path: Path) -> None:
    network = EfficientDet(ending)
    content = network.content()
    picture = np.random.default_rng(1).random((1, network.size, network.size, 3)).astype(np.float32)
    model = loaded(content, tmp_path)
    theirs = as_detections(litert(content, [picture]))
    assert len({tuple(box) for box in theirs[0]}) == MOST
    for devices in ("nnapi-reference", None):
        assert compare(as_detections(nnapi.compile(model, devices=devices).run(picture)), theirs) == "same boxes"


def as_detections(results: Sequence[Any]) -> list[Any]:
    """Return boxes, scores and classes of a single image."""
    boxes, classes, scores, _ = map(np.asarray, results)
    return [boxes.reshape(-1, 4), scores.reshape(-1), classes.reshape(-1)]


def test_an_exported_suppression_has_no_background_either(tmp_path: Path) -> None:
    model, exported = loaded(EfficientDet(POST_PROCESS).content(), tmp_path), tmp_path / "exported.tflite"
    assert [call.name for call in model.operations][-3:] == ["DETECTION_POSTPROCESSING_V2", "CAST", "CAST"]
    nnapi.export(model, exported)
    written = tflite.Model.GetRootAs(exported.read_bytes())
    codes = {written.OperatorCodes(i).BuiltinCode() for i in range(written.OperatorCodesLength())}
    assert tflite.BuiltinOperator.CUSTOM in codes
    assert tflite.BuiltinOperator.PAD not in codes
