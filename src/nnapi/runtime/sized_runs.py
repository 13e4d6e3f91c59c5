"""Runs on a device that takes dynamic dimensions: one preparation for all sizes."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from nnapi.contract.driver import Prepared, Request, TakesDynamic
from nnapi.errors import NnapiError, OpFailedError
from nnapi.model.dynamic_model import DescribeSized, Shapes, SizedModel
from nnapi.model.operand import Array
from nnapi.printable import pluralize
from nnapi.runtime.compilation import Compilation

MOST_PREPARED = 4
"""Number of preparations, each for the sizes that keep its guards; a model that needs more has new guards each time."""

MOST_ANSWERS = 4096
"""Number of shapes for which it is cached whether a preparation takes them."""


@dataclass
class SizedRuns:
    """A model prepared for all sizes, the seconds that took, and its number of runs. Several threads may run."""

    model: SizedModel
    device: str
    prepared: Prepared
    seconds: float
    runs: int = 0
    _taken: dict[Shapes, bool] = field(default_factory=dict)

    def takes(self, shapes: Shapes) -> bool:
        """Return whether shapes keep the guards. Answers are cached, as the lengths of a text recur in the next one."""
        taken = self._taken.get(shapes)
        if taken is None:
            if len(self._taken) == MOST_ANSWERS:
                self._taken.clear()
            taken = self._taken[shapes] = not self.model.find_broken(shapes)
        return taken

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        further = self.model.find_further(tuple([array.shape for array in arrays]))
        return [*self.prepared.execute(Request([*arrays, *further])).outputs]

    def explain(self) -> str:
        """Name the device and the dynamic dimensions, as expressions in those of inputs, and sizes that are fixed."""
        inputs = [self.model.model.operands[index] for index in self.model.model.inputs]
        shapes = [f"{each.name} [{', '.join(map(_describe, each.type.dimensions))}]" for each in inputs if each.name]
        fixed = [f", only for {symbol} = {size}" for symbol, size in self.model.symbols.find_fixed().items()]
        cost = f"compiled in {self.seconds:.2f} s, {pluralize(self.runs, 'run')}"
        return f"dynamic dimensions on {self.device}: {cost}{''.join(fixed)}\n{', '.join(shapes)}"


def _describe(size: object) -> str:
    return str(getattr(size, "expression", size))


class SizedCache:
    """The preparations of one model for all sizes. One thread may use it at a time."""

    def __init__(self, describe: DescribeSized) -> None:
        self._describe = describe
        self._made: list[SizedRuns] = []
        self.refusal = ""
        """Why no device takes the model's dynamic dimensions; empty if that is unknown."""

    def find(self, shapes: Shapes) -> SizedRuns | None:
        return next((each for each in self._made if each.takes(shapes)), None)

    def make(self, shapes: Shapes, like: Compilation) -> SizedRuns | None:
        """Prepare the model that holds for these shapes on a device of a compilation; None if none takes it."""
        if self.refusal or any(0 in shape for shape in shapes):  # where a size is 0, it is not known what others do
            return None
        if len(self._made) == MOST_PREPARED:
            self.refusal = f"{MOST_PREPARED} preparations did not suffice"
            return None
        begin = time.perf_counter()
        model = self._describe(shapes)
        if model is None:
            self.refusal = "an operation needs a size"
            return None
        try:
            device, prepared = _prepare(model, like)
        except OpFailedError as error:
            self.refusal = str(error)
            return None
        broken = model.find_broken(shapes)
        if broken:  # the device takes no other sizes than those of the import
            self.refusal = f"{device}: {broken}"
            return None
        self._made.append(SizedRuns(model, device, prepared, time.perf_counter() - begin))
        return self._made[-1]

    def refuse(self, failed: SizedRuns, error: Exception) -> None:
        """Prepare nothing more after a run has failed."""
        self.refusal = f"{failed.device}: {error}"
        self._made = [each for each in self._made if each is not failed]

    def clear(self) -> None:
        self._made.clear()

    def explain(self) -> list[str]:
        found = [each.explain() for each in self._made]
        return [*found, f"other shapes are compiled each: {self.refusal}"] if self.refusal else found


def _prepare(model: SizedModel, like: Compilation) -> tuple[str, Prepared]:
    """Prepare a model for all sizes on the first device of a compilation that takes them, with its options.

    Raise OpFailedError with the reason of each device.
    """
    reasons = []
    for device in like.candidates:
        if not isinstance(device.driver, TakesDynamic):
            reasons.append(f"{device.name} takes no dynamic dimensions")
            continue
        try:
            return device.name, device.driver.prepare_dynamic(model.model, like.options._replace(deadline=None))
        except NnapiError as error:
            reasons.append(f"{device.name}: {error}")
        except Exception as error:
            reasons.append(f"{device.name}: {type(error).__name__}: {error}")
    raise OpFailedError("; ".join(reasons))
