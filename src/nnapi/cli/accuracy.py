"""Measure accuracy on labeled inputs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, starmap

import numpy as np

from nnapi.cli.array_inputs import map_array
from nnapi.cli.cluster_runs import run_on
from nnapi.cli.inputs import input_operands, read_input
from nnapi.cluster.predictor import Predictor
from nnapi.cluster.shards import Cluster
from nnapi.codes import OperationCode
from nnapi.errors import Mistake, UnusableFile
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.model.precision import PrecisionName
from nnapi.operation_codes import DETECTIONS
from nnapi.ops.quantized_values import to_floats
from nnapi.printable import pluralize
from nnapi.report.accuracy import Boxes, classification, detection, squared_error
from nnapi.report.benchmark import Judge, JudgeDevices, Step
from nnapi.report.dataset import Example
from nnapi.report.engines import UnsuitableError
from nnapi.runtime.run_many import RunMany
from nnapi.vision.output_summaries import class_count, output_operands, walk_back
from nnapi.vision.pictures import PLAIN, Pixels

Metrics = Callable[[Sequence[Sequence[Array]]], Mapping[str, float]]
"""Returns the metrics for the float values of all outputs of all examples."""


def make_judge(model: Model, examples: Sequence[Example], pixels: Pixels = PLAIN) -> Judge:
    """Return a function that runs an engine on every example and computes metrics from the labels; Mistake if the
    labels do not fit the model's outputs."""
    metrics = _prepare(model, examples)
    (operand,) = input_operands(model)
    return lambda run: metrics(run([read_input(example.file, operand, pixels).array]) for example in examples)


def make_cluster_judge(
    cluster: Cluster, model: Model, examples: Sequence[Example], step: Step, pixels: Pixels = PLAIN
) -> JudgeDevices:
    """Do the same as :func:`make_judge`, with nnapi's devices on the workers of a cluster."""
    metrics = _prepare(model, examples)
    files = [[example.file] for example in examples]

    def show_progress(done: int, total: int | None) -> None:
        step(f"{done} of {total} examples on the cluster")

    def run_all(devices: Sequence[str], precision: PrecisionName | None) -> Iterator[Sequence[Array]]:
        predictor = Predictor(model, devices, precision=precision, cache=True)
        results = RunMany(run_on(cluster, predictor, files, pixels), len(files), show_progress)
        return (found.outputs for found in results)

    return lambda devices, precision: metrics(run_all(devices, precision))


def _prepare(model: Model, examples: Sequence[Example]) -> Callable[[Iterable[Sequence[Array]]], Mapping[str, float]]:
    if len(model.inputs) != 1:
        raise Mistake(f"--dataset needs a model with one input, but {model.name} has {len(model.inputs)}")
    metrics, types = _metrics(model, examples), [operand.type for operand in output_operands(model)]

    def compute(found: Iterable[Sequence[Array]]) -> Mapping[str, float]:
        try:
            return metrics([list(starmap(to_floats, zip(types, arrays, strict=True))) for arrays in found])
        except Mistake as mistake:  # a file of the data set cannot be read
            raise UnsuitableError(str(mistake)) from None

    return compute


def _metrics(model: Model, examples: Sequence[Example]) -> Metrics:
    truths = [example.truth for example in examples]
    labels = [truth for truth in truths if isinstance(truth, int)]
    boxes = [truth for truth in truths if isinstance(truth, Boxes)]
    if labels:
        return _classes(model, labels)
    if boxes:
        return _boxes(model, boxes)
    return _values(model, [[map_array(file) for file in truth] for truth in truths if isinstance(truth, tuple)])


def _classes(model: Model, labels: Sequence[int]) -> Metrics:
    count = class_count(model)
    if count is None:
        raise UnusableFile(f"the data set has class labels, but {model.name} is not a classifier")
    if max(labels) >= count:
        raise UnusableFile(
            f"the data set has label {max(labels)}, but {model.name} has only {pluralize(count, 'class')}"
        )
    return lambda found: classification([outputs[0] for outputs in found], labels)


def _values(model: Model, expected: Sequence[Sequence[Array]]) -> Metrics:
    if any(len(arrays) != len(model.outputs) for arrays in expected):
        outputs = pluralize(len(model.outputs), "output")
        raise UnusableFile(f"{model.name} has {outputs}, but an example of the data set expects another number")
    return lambda found: squared_error(found, expected)


def _boxes(model: Model, given: Sequence[Boxes]) -> Metrics:
    indexes = find_detector_outputs(model)
    if indexes is None:
        raise UnusableFile(f"the data set has boxes, but {model.name} does not end with DETECTION_POSTPROCESSING")
    scores, corners, classes, count = indexes

    def metrics(found: Sequence[Sequence[Array]]) -> Mapping[str, float]:
        boxes = []
        for outputs in found:
            valid = int(outputs[count].reshape(-1)[0])
            boxes.append(
                Boxes(
                    outputs[corners].reshape(-1, 4)[:valid].astype(np.float64),
                    outputs[classes].reshape(-1)[:valid].astype(np.int64),
                    outputs[scores].reshape(-1)[:valid].astype(np.float64),
                )
            )
        return detection(boxes, given)

    return metrics


def find_detector_outputs(model: Model) -> tuple[int, int, int, int] | None:
    """Return the positions of scores, boxes, classes and count among a detector's outputs; None for other models."""
    roles: dict[int, int] = {}
    for position, output in enumerate(model.outputs):
        made = dropwhile(lambda each: each[1].code == OperationCode.CAST, walk_back(model, output))
        index, call = next(made, (output, None))
        if call is None or call.code not in DETECTIONS:
            return None
        roles[call.outputs.index(index)] = position
    return (roles[0], roles[1], roles[2], roles[3]) if len(roles) == 4 else None
