"""What drivers say of their engines for first predictions, before any model was measured on the device.

An engine that starts at once is sampled: a few operations, run alone on the processor at hand. What one takes that
starts slowly is told in relation to such an engine, as far as that follows from how both compute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from nnapi.codes import OperandCode
from nnapi.model.facts import Kind


class Sample(NamedTuple):
    """An operation that was run: its kind, the operand code of its first input, what it had to do, and the seconds.

    Pixels are those of a convolution's result, or a matrix product's rows; places those of the filter, for each pixel.
    Where there are several kernels for a kind and a code, whichever is fastest computes an operation.
    """

    kind: Kind
    code: int
    macs: int
    nbytes: int
    pixels: int
    places: int
    seconds: float
    kernel: str = ""


class Samples(NamedTuple):
    """Operations that were run on one thread; ``launch`` are the seconds of a call without the operation, ``byte``
    those to bring a byte of an input to the engine, or of an output from it."""

    launch: float
    byte: float
    operations: Sequence[Sample]


@runtime_checkable
class Sampled(Protocol):
    """What a driver adds that measures samples of its engine together with its figures, in a tenth of a second."""

    def read_samples(self, figures: Mapping[str, Any]) -> Samples | None:
        """Those among what was measured; None where they are of no use."""
        ...


class Relation(NamedTuple):
    """So many times as long as the other engine takes, on elements of ``code`` where that is not the same."""

    factor: float = 1.0
    code: OperandCode | None = None


Kinds = Mapping[tuple[Kind, OperandCode], Relation]


class Relations(NamedTuple):
    """What an engine takes in relation to that of the device ``other``: for a call, for an operation whatever it does,
    and for what operations of a kind have to do, by the operand codes of their first inputs."""

    other: str
    call: float
    operation: float
    kinds: Kinds


@runtime_checkable
class Related(Protocol):
    """What a driver adds whose engine is not started for a first prediction."""

    def relate(self) -> Relations:
        """In relation to an engine that can be sampled, on this processor."""
        ...
