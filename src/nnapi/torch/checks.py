"""Checks that a graph of PyTorch's is pure inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode


class UnsuitableError(Exception):
    """A graph that NNAPI cannot run, with the reason."""


class _Random(TorchDispatchMode):  # type: ignore[misc]  # PyTorch may be missing when types are checked
    """Refuse operators that draw random values."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), named: Any = None) -> Any:
        named = named or {}
        if torch.Tag.nondeterministic_seeded in function.tags and not _is_without_dropout(function, args, named):
            raise UnsuitableError(f"it draws random numbers ({function})")
        return function(*args, **named)


def _is_without_dropout(function: Any, args: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """Return whether dropout is a function's only random element, and is off."""
    for index, argument in enumerate(function._schema.arguments):
        if argument.name == "dropout_p":
            given = args[index] if index < len(args) else named.get("dropout_p", argument.default_value)
            return not given
    return False


def need_inference(graph: Any, inputs: Sequence[Any]) -> None:
    """Raise UnsuitableError if a graph is trained, changes its inputs, draws random values, or returns non-tensors.
    Nothing is computed."""
    tensors = [each for each in inputs if isinstance(each, torch.Tensor)]
    if torch.is_grad_enabled() and any(each.requires_grad for each in tensors):
        raise UnsuitableError("gradients are wanted: call it under torch.no_grad()")
    elsewhere = {str(each.device) for each in tensors} - {"cpu"}
    if elsewhere:
        raise UnsuitableError(f"its tensors lie on {', '.join(sorted(elsewhere))}, not on the processor")
    fakes = FakeTensorMode(allow_non_fake_inputs=True)
    with torch.inference_mode(False), torch.no_grad(), fakes, _Random():
        given = [fakes.from_tensor(each) if isinstance(each, torch.Tensor) else each for each in inputs]
        before = [each._version for each in given if isinstance(each, torch.Tensor)]
        outputs = graph(*given)
        after = [each._version for each in given if isinstance(each, torch.Tensor)]
    if before != after:
        raise UnsuitableError(
            "it changes its inputs or buffers in place; model.eval() leaves those of a BatchNorm alone"
        )
    if not all(isinstance(each, torch.Tensor) for each in outputs):
        raise UnsuitableError("it gives something else than tensors")
