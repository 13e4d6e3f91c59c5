"""A program with a typo, which ``mypy --strict`` finds: Builder has no operation ``ad``."""

import nnapi

b = nnapi.Builder()
x = b.input(nnapi.tensor("float32", (3, 4)))
b.output(b.ad(x, x))
