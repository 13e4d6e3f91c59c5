"""A program that passes ``mypy --strict``: every operation of the Builder is typed."""

import numpy as np

import nnapi


def build() -> nnapi.Model:
    """Return a model that computes (x + 1) * 2 for an array of [3, 4]."""
    b = nnapi.Builder("add_mul")
    x = b.input(nnapi.tensor(np.float32, (3, 4)), name="x")
    b.output(b.mul(b.add(x, np.ones((3, 4), np.float32)), np.full((3, 4), 2, np.float32), activation="none"))
    return b.finish()


if __name__ == "__main__":
    (y,) = nnapi.compile(build()).run(np.zeros((3, 4), np.float32))
    print(y)
