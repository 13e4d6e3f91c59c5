"""The table of families: which model is recognized, which is not, and what a task shows."""

from __future__ import annotations

import re

import numpy as np
import pytest

from nnapi.codes import OperationCode
from nnapi.errors import Mistake
from nnapi.vision.families import FAMILIES, find_family, offer_tasks, view_outputs
from nnapi.vision.families.family import Family
from nnapi.vision.task import Task
from nnapi.vision.view import Hints
from tests.vision.family_cases import model_of, model_with_last

F = "float32"


@pytest.mark.parametrize(
    ("outputs", "task"),
    [
        ([(F, (1, 3, 4)), (F, (1, 3)), (F, (1, 3)), (F, (1,))], Task.DETECTION),
        ([(F, (1, 3)), (F, (1, 3, 4)), (F, (1,)), (F, (1, 3))], Task.DETECTION),
        ([("int32", (1, 8, 8))], Task.SEGMENTATION),
        ([(F, (1, 8, 8, 21))], Task.SEGMENTATION),
        ([(F, (1, 16, 16, 3))], Task.IMAGE),
        ([(F, (1, 1, 17, 3))], Task.POSE),
        ([(F, (1, 9, 9, 32)), (F, (1, 9, 9, 32)), (F, (1, 9, 9, 17)), (F, (1, 9, 9, 34))], Task.POSE),
        ([(F, (1, 1001))], None),
        ([(F, (1, 1, 1, 1001))], None),
        ([(F, (1, 8, 8))], None),
        ([(F, (1, 8, 8, 1))], None),
        ([(F, (1, 8, 8, 14))], None),
        ([(F, (1, 4, 4, 3))], None),
        ([(F, (1, 896, 16)), (F, (1, 896, 1))], None),
    ],
)
def test_families_by_shape(outputs: list[tuple[str, tuple[int, ...]]], task: Task | None) -> None:
    found = find_family(model_of(*outputs))
    assert (found and found.task) == task


def test_families_by_name_and_by_last_operation() -> None:
    maps = find_family(model_of((F, (1, 4, 4, 14)), names=("hourglass_out_3",)))
    assert maps is not None
    assert (maps.task, maps.pixels.is_bgr, bool(maps.evidence)) == (Task.POSE, True, True)
    mask = find_family(model_with_last(OperationCode.LOGISTIC, (1, 8, 8, 1)))
    assert (mask and mask.name) == "mask of one thing"
    relu = find_family(model_with_last(OperationCode.RELU, (1, 8, 8, 1)))
    assert relu is None


def test_names_say_which_family_it_is() -> None:
    assert all(isinstance(each, Family) for each in FAMILIES)
    assert len({(each.name, each.view) for each in FAMILIES}) == len(FAMILIES)


def test_a_family_of_another_task_is_not_taken() -> None:
    assert find_family(model_of((F, (1, 16, 16, 3))), Task.SEGMENTATION) is None


@pytest.mark.parametrize("task", [Task.DETECTION, Task.POSE, Task.LANDMARKS, Task.SEGMENTATION, Task.IMAGE, Task.DEPTH])
def test_outputs_that_are_not_for_the_task(task: Task) -> None:
    with pytest.raises(Mistake, match=re.escape(f"--as {task} does not fit outputs of shape [5]")):
        view_outputs(model_of((F, (5,))), [np.zeros(5, np.float32)], task, Hints(), None)


def test_tasks_are_offered_where_no_family_has_the_outputs() -> None:
    one = model_of((F, (1, 8, 8, 1)))
    offered = offer_tasks(one, [np.zeros((1, 8, 8, 1), np.float32)])
    assert {Task.SEGMENTATION, Task.DEPTH, Task.IMAGE} <= set(offered)
    many = model_of((F, (1, 8, 8, 5)))
    offered = offer_tasks(many, [np.zeros((1, 8, 8, 5), np.float32)])
    assert Task.SEGMENTATION in offered
    assert not {Task.DEPTH, Task.IMAGE} & set(offered)
