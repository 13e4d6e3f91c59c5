"""The table of model families."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from nnapi.errors import Mistake
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.ops.quantized_values import to_floats
from nnapi.vision.families import anchors, landmarks
from nnapi.vision.families.embedding import EMBEDDING
from nnapi.vision.families.family import Family
from nnapi.vision.families.images import DEPTHS, IMAGES
from nnapi.vision.families.key_points import HEAT_MAPS, KEY_POINTS
from nnapi.vision.families.posenet import POSENET
from nnapi.vision.families.post_processed import POST_PROCESSED
from nnapi.vision.families.segmentation import CLASSES, HAIR, MASK
from nnapi.vision.output_summaries import output_operands
from nnapi.vision.task import Task
from nnapi.vision.view import Hints, View

FAMILIES: tuple[Family, ...] = (
    *(POST_PROCESSED, *anchors.FAMILIES, POSENET, KEY_POINTS, *landmarks.FAMILIES),
    *(HAIR, MASK, HEAT_MAPS, CLASSES, IMAGES, EMBEDDING),
)
"""The families in the order in which they are tried."""
BY_TASK = {
    Task.DETECTION: (POST_PROCESSED, anchors.BESIDE_ANCHORS),
    Task.SEGMENTATION: (CLASSES,),
    Task.POSE: (KEY_POINTS, HEAT_MAPS),
    Task.LANDMARKS: landmarks.FAMILIES,
    Task.IMAGE: (IMAGES,),
    Task.DEPTH: (DEPTHS,),
    Task.EMBEDDING: (EMBEDDING,),
}
"""The families to try for a given task if no family recognizes the model."""
OFFERED = (Task.SEGMENTATION, Task.POSE, Task.DEPTH, Task.IMAGE, Task.EMBEDDING, Task.CLASSIFICATION)


def find_family(model: Model, task: Task | None = None) -> Family | None:
    """Return the first family that recognizes the model, by default of any task; None if there is none."""
    return next((each for each in FAMILIES if task in (None, each.task) and each.recognizes(model)), None)


def view_outputs(model: Model, outputs: Sequence[Array], task: Task, hints: Hints, picture: Any) -> View:
    """Return a view of a run's outputs, made by the family that recognizes the model, else by families of the task.

    Raises Mistake if the outputs do not fit the task.
    """
    numbers = [to_floats(o.type, array) for o, array in zip(output_operands(model), outputs, strict=True)]
    found = find_family(model, task)
    for family in (found,) if found else BY_TASK[task]:
        try:
            return family.view(model, numbers, hints, picture)
        except (ValueError, IndexError, StopIteration):
            continue
    shapes = " and ".join(str(list(array.shape)) for array in numbers)
    raise Mistake(f"--as {task} does not fit outputs of shape {shapes}")


def offer_tasks(model: Model, outputs: Sequence[Array]) -> list[Task]:
    offered = []
    for task in OFFERED:
        with suppress(Mistake):
            if task is not Task.CLASSIFICATION:
                view_outputs(model, outputs, task, Hints(), None)
            offered.append(task)
    return offered
