"""``python -m nnapi.drivers.webgpu.probe``: add two numbers on the accelerator; print ``computed`` or the reason."""

import os
import sys

import numpy as np

from nnapi.errors import NnapiError, OpFailedError, need
from nnapi.formats.tflite.graph import Graph, Operator, Tensor


def main() -> None:
    """Print the result, and exit without running the engine's cleanup."""
    try:
        add_numbers()
        answer = "computed"
    except ImportError as error:
        answer = f"LiteRT cannot be loaded: {error}"
    except NnapiError as error:
        answer = str(error)
    print(answer.replace("\n", " "), flush=True)
    sys.stderr.flush()
    os._exit(0)


def add_numbers() -> None:
    """Add numbers on the accelerator; raise OpFailedError if it cannot, or if the sums are wrong."""
    from nnapi.drivers.webgpu.engine import Instance
    from nnapi.drivers.webgpu.lowering import write_graph

    one, other, total = (Tensor("f32", (1, 2)) for _ in range(3))
    graph = Graph([Operator("ADD", [one, other], [total], {"activation": 0})], [one, other], [total])
    instance = Instance(write_graph(graph), (False, False, False), False)
    sys.stderr.write(instance.said)
    (found,) = instance.run([np.array([[1, 2]], np.float32), np.array([[3, 5]], np.float32)])
    need(found.tolist() == [[4.0, 7.0]], f"1 + 3 and 2 + 5 are {found.tolist()}", OpFailedError)


if __name__ == "__main__":
    main()
