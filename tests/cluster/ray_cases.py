"""Ray's place in tests that are about what is asked of it."""

from typing import Any

from nnapi.cluster.shards import run_shard


class FakeRay:
    """As much of Ray as shards need, in this process: a task runs when its result is asked for."""

    class exceptions:
        class RayError(Exception):
            pass

    def __init__(self, dies: bool = False) -> None:
        self.dies = dies
        self.begun: list[list[Any]] = []
        self.asked_for: dict[str, Any] = {}

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": {"CPU": 2.0}}, {"Alive": False, "Resources": {"CPU": 8.0}}]

    def put(self, work: Any) -> Any:
        return work

    def cancel(self, waiting: Any, force: bool) -> None:
        self.begun.remove(waiting[1])

    def remote(self, function: Any) -> Any:
        return self

    def options(self, **options: Any) -> Any:
        self.asked_for = options

        class Task:
            @staticmethod
            def remote(work: Any, shard: list[Any]) -> Any:
                self.begun.append(shard)
                return work, shard

        return Task

    def get(self, waiting: Any) -> Any:
        if self.dies:
            raise self.exceptions.RayError("the worker died\nmuch more")
        return run_shard(*waiting)
