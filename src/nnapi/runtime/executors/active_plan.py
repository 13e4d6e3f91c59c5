"""The plan that runs use now."""

from nnapi.contract.driver import OpenOptions
from nnapi.contract.handles import open_handle
from nnapi.model.model import Model
from nnapi.runtime.executors.fast_path import FastPath, FastPaths, find_fast_path, is_dynamic, list_shapes
from nnapi.runtime.executors.observed import Observer, observe_handle
from nnapi.runtime.executors.prepared_partitions import ReadyPlan


class ActivePlan:
    """A prepared plan with the observer of its runs, opened for any number of threads.

    A change of plan or observer makes a new object, so runs notice the change by comparing objects.
    """

    def __init__(self, model: Model, ready: ReadyPlan, observer: Observer | None = None) -> None:
        self.ready, self.observer = ready, observer
        shapes = list_shapes(model)
        self.handle = observe_handle(open_handle(ready.prepared, OpenOptions(shapes)), observer)
        self.fast_path: FastPath | None = find_fast_path(model, self.handle, shapes)
        """The fast path, if there is one. Runs of a dynamic model replace it by one of ``fast_paths``."""
        self.fast_paths = FastPaths(model, self.handle) if is_dynamic(model) else None
