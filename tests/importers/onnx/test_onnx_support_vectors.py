"""Support vector machines beside plain Python, and beside ONNX Runtime where that is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.importers.refusals import UnsupportedOperationsError

pytest.importorskip("onnx", reason="onnx is not installed")
from nnapi.importers.onnx.pairwise_coupling import MOST_CLASSES
from tests.importers.onnx.estimator_cases import X, check, made, rng

Predict = Callable[[Any], Any]
VECTORS = rng.normal(size=(5, 3)).astype(np.float32)
KERNELS: dict[str, Predict] = {
    "LINEAR": lambda x: x @ VECTORS.T,
    "POLY": lambda x: (0.5 * x @ VECTORS.T + 0.25) ** 3,
    "RBF": lambda x: np.exp(-0.5 * ((x[:, None] - VECTORS) ** 2).sum(2)),
    "SIGMOID": lambda x: np.tanh(0.5 * x @ VECTORS.T + 0.25),
}


def machine(kernel: str, **more: Any) -> dict[str, Any]:
    return {
        "kernel_type": kernel,
        "kernel_params": [0.5, 0.25, 3.0],
        "support_vectors": VECTORS.reshape(-1).tolist(),
        **more,
    }


@pytest.mark.parametrize("one_class", [0, 1])
@pytest.mark.parametrize("kernel", KERNELS)
def test_regression_by_support_vectors(kernel: str, one_class: int) -> None:
    factors = np.array([1, -2, 0.5, 1.5, -1], np.float32)
    given = machine(kernel, n_supports=5, coefficients=factors.tolist(), rho=[0.125], one_class=one_class)
    expected = (KERNELS[kernel](X) @ factors + np.float32(0.125))[:, None]
    expected = np.where(expected > 0, 1, -1) if one_class else expected
    check(made("SVMRegressor", X, **given), X, [expected])


@pytest.mark.parametrize("counts", [[2, 3], [2, 2, 1]])
def test_classification_by_support_vectors(counts: list[int]) -> None:
    classes = len(counts)
    table = rng.normal(size=(classes - 1, 5)).astype(np.float32)
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    rho = np.linspace(-0.5, 0.5, len(pairs)).astype(np.float32)
    kernel, of = KERNELS["RBF"](X), np.repeat(np.arange(classes), counts)
    scores = np.stack(
        [kernel[:, of == i] @ table[j - 1, of == i] + kernel[:, of == j] @ table[i, of == j] for i, j in pairs], 1
    )
    scores = scores + rho
    votes = np.zeros((len(X), classes))
    for p, (i, j) in enumerate(pairs):
        for row, score in enumerate(scores[:, p]):
            votes[row, i if score > 0 else j] += 1
    labels = np.array([4, 6, 2][:classes])
    given = machine(
        "RBF",
        vectors_per_class=counts,
        coefficients=table.reshape(-1).tolist(),
        rho=rho.tolist(),
        classlabels_ints=labels.tolist(),
    )
    expected = np.concatenate([-scores, scores], 1) if classes == 2 else scores
    check(made("SVMClassifier", X, ("label", "scores"), **given), X, [labels[votes.argmax(1)], expected])


def couple(pairwise: Any) -> Any:
    """LIBSVM's multiclass_probability, for one row of probabilities of class i beside class j."""
    count = len(pairwise)
    p, system = np.full(count, 1 / count), -pairwise * pairwise.T
    system[np.diag_indices(count)] = (pairwise**2).sum(0)
    for _ in range(100):
        errors = system @ p
        mean = p @ errors
        if np.abs(errors - mean).max() < 0.005 / count:
            break
        for t in range(count):
            step = (mean - errors[t]) / system[t, t]
            mean = (mean + step * (step * system[t, t] + 2 * errors[t])) / (1 + step) ** 2
            errors = (errors + step * system[t]) / (1 + step)
            p[t] += step
            p /= 1 + step
    return p


@pytest.mark.parametrize("counts", [[2, 3], [2, 2, 1], [1, 1, 1, 2]])
def test_probabilities_by_support_vectors(counts: list[int]) -> None:
    classes = len(counts)
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    table = rng.normal(size=(classes - 1, 5)).astype(np.float32)
    slopes, offsets = (rng.normal(size=len(pairs)).astype(np.float32) for _ in range(2))
    kernel, of = KERNELS["RBF"](X), np.repeat(np.arange(classes), counts)
    scores = np.stack(
        [kernel[:, of == i] @ table[j - 1, of == i] + kernel[:, of == j] @ table[i, of == j] for i, j in pairs], 1
    )
    expected = []
    for row in 1 / (1 + np.exp(scores.astype(np.float64) * slopes + offsets)):
        pairwise = np.zeros((classes, classes))
        for (i, j), value in zip(pairs, row, strict=True):
            pairwise[i, j], pairwise[j, i] = value, 1 - value
        expected.append(couple(pairwise))
    given = machine(
        "RBF",
        vectors_per_class=counts,
        coefficients=table.reshape(-1).tolist(),
        rho=[0.0] * len(pairs),
        classlabels_ints=list(range(classes)),
        prob_a=slopes.tolist(),
        prob_b=offsets.tolist(),
    )
    content = made("SVMClassifier", X, ("label", "scores"), **given)
    _, found = nnapi.compile(nnapi.load(content), "nnapi-reference").run(X)
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    theirs = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]).run(None, {"x": X})[1]
    np.testing.assert_allclose(theirs, expected, 1e-4, 1e-5)


def test_probabilities_of_many_classes_are_refused() -> None:
    count = MOST_CLASSES + 1
    pairs = count * (count - 1) // 2
    given: dict[str, Any] = {
        "kernel_type": "LINEAR",
        "support_vectors": [1.0] * 3 * count,
        "vectors_per_class": [1] * count,
        "coefficients": [1.0] * (count - 1) * count,
        "rho": [0.0] * pairs,
        "classlabels_ints": list(range(count)),
        "prob_a": [1.0] * pairs,
        "prob_b": [1.0] * pairs,
    }
    with pytest.raises(UnsupportedOperationsError, match="the probabilities of 11 classes are iterated"):
        nnapi.load(made("SVMClassifier", X, ("label", "scores"), **given))
