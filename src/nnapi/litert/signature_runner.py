"""A signature of a file, called by the names of its inputs."""

from __future__ import annotations

from typing import Any

from ai_edge_litert import interpreter as litert

from nnapi.errors import NnapiError
from nnapi.model.operand import Array


class SignatureRunner(litert.SignatureRunner):  # type: ignore[misc]  # LiteRT has no types
    """A signature on this library's devices, prepared again for new input shapes."""

    def __call__(self, **inputs: Any) -> dict[str, Array]:
        """Return the outputs by name. ValueError if the inputs are not the signature's."""
        if len(inputs) != len(self._inputs):
            raise ValueError(f"the signature takes {len(self._inputs)} inputs, {len(inputs)} are given")
        unknown = [name for name in inputs if name not in self._inputs]
        if unknown:
            raise ValueError(f"the signature has no input {', '.join(unknown)}; it has {', '.join(self._inputs)}")
        interpreter, number = self._interpreter, self._subgraph_index
        interpreter._ensure_safe()
        session = interpreter.session(number)
        for name, value in inputs.items():
            session.resize(self._inputs[name], value.shape, False)
        graph = session.allocate()
        for name, value in inputs.items():
            interpreter.set_otherwise(self._inputs[name], value, number)
        try:
            graph.results = graph.run()
        except NnapiError as error:
            raise RuntimeError(str(error)) from error
        return {name: interpreter.get_tensor(index, number) for name, index in self._outputs}
