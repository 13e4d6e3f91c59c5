"""Composite operations before drivers that do not list their extension: such drivers see the operations of NNAPI that
replace them."""

from collections.abc import Callable, Mapping, Sequence

from nnapi.contract.driver import (
    CacheEntry,
    Caches,
    Driver,
    Precise,
    Predicts,
    Prepared,
    PrepareOptions,
    Variants,
    Verdict,
)
from nnapi.contract.precision import Offer
from nnapi.contract.substitutes import Estimates
from nnapi.errors import OpFailedError, need
from nnapi.model.extension import COMPOSITES
from nnapi.model.model import Model

Ask = Callable[[Model], Sequence[Verdict]]


def takes_composites(driver: Driver) -> bool:
    """Return whether a driver lists the extension of composites; it then knows ranks beyond NNAPI's, too."""
    return any(extension.name == COMPOSITES for extension in driver.info.extensions)


class DriverAdapter:
    """A driver as the runtime calls it about a model: it sees the model without unknown composites, and the optional
    methods that it lacks have defaults."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def show(self, model: Model) -> Model:
        """Return the model as the driver sees it: without composites, unless it lists their extension."""
        if takes_composites(self._driver):
            return model
        from nnapi.lowering.expansion import remove_composites  # on demand: few drivers need it

        return remove_composites(model)

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        """Return the prepared model; OpFailedError if the driver returns something else."""
        prepared, name = self._driver.prepare(self.show(model), options), self._driver.info.name
        need(hasattr(prepared, "execute"), f"{name} returned {prepared!r} for a prepared model", OpFailedError)
        return prepared

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> Prepared:
        assert isinstance(self._driver, Caches)
        return self._driver.restore(self.show(model), entry, options)

    def list_variants(self, model: Model) -> Sequence[str]:
        return self._driver.list_variants(self.show(model)) if isinstance(self._driver, Variants) else ()

    def predict_variant(self, model: Model) -> str:
        return self._driver.predict_variant(self.show(model)) if isinstance(self._driver, Variants) else ""

    def predict_savings(self, model: Model) -> Mapping[str, float]:
        return self._driver.predict_savings(self.show(model)) if isinstance(self._driver, Predicts) else {}

    def offer_precision(self, model: Model) -> Offer | None:
        """Return the precision that the driver offers; None if it has no choice."""
        return self._driver.offer_precision(self.show(model)) if isinstance(self._driver, Precise) else None

    def list_estimates(self, model: Model) -> Sequence[str]:
        return self._driver.list_estimates(self.show(model)) if isinstance(self._driver, Estimates) else ()


def ask_about_parts(model: Model, ask: Ask) -> list[Verdict]:
    """Ask about the operations that replace the composites of a model. The verdict on a composite is the first refusal
    of its parts, or that of its decomposition."""
    from nnapi.contract.workload import find_work
    from nnapi.lowering.expansion import expand
    from nnapi.operation_codes import COMPOSITE_CODES

    shown, origins, refusals = expand(model)
    parts: dict[int, list[tuple[int, Verdict]]] = {}
    for call, verdict in zip(shown.operations, ask(shown), strict=True):
        parts.setdefault(origins[call.number], []).append((call.number, verdict))
    calls = {call.number: call for call in shown.operations}
    found = []
    for call in model.operations:
        answers = parts[call.number]
        refused = next((verdict for _, verdict in answers if not verdict.supported), None)
        if call.number in refusals:
            found.append(Verdict(False, refusals[call.number]))
        elif call.code not in COMPOSITE_CODES:
            found.append(answers[0][1])
        elif refused is not None:
            found.append(Verdict(False, f"{call}: its decomposition is refused: {refused.reason}"))
        else:
            found.append(Verdict(True, parts=tuple(find_work(shown, calls[number]) for number, _ in answers)))
    return found
