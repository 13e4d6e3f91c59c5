"""How long the reference takes for operations."""

from __future__ import annotations

from nnapi.drivers.timings import Element, Timings, by_kind
from nnapi.model.facts import Kind

MEASURED = Timings(
    4.5e-06,
    3.9e-13,
    by_kind(
        {
            Kind.ELEMENTWISE: {
                Element.FLOAT32: (2.4e-06, 0.0, 1.2e-11),
                Element.UNSIGNED: (3.9e-05, 0.0, 1.3e-09),
                Element.SIGNED: (4.1e-05, 0.0, 1.4e-09),
                Element.OTHER: (2.6e-06, 0.0, 7.9e-12),
            },
            Kind.CONVOLUTION: {
                Element.FLOAT32: (1.4e-05, 1.6e-11, 0.0, 8.5e-09, 3.9e-09),
                Element.UNSIGNED: (2e-05, 2.9e-11, 0.0, 3.6e-08, 6.6e-09),
                Element.SIGNED: (2.2e-05, 1.1e-11, 6.3e-10, 2e-08, 1.6e-08),
            },
            Kind.DEPTHWISE: {
                Element.FLOAT32: (2.8e-05, 1.1e-10, 5.7e-11, 1.6e-08),
                Element.UNSIGNED: (3.1e-05, 4e-11, 1.5e-09, 0.0, 4.3e-09),
                Element.SIGNED: (3.1e-05, 1e-10, 1.3e-09, 6.1e-08),
            },
            Kind.PRODUCT: {
                Element.FLOAT32: (3.8e-06, 1e-11, 1.4e-11, 4.5e-07),
                Element.UNSIGNED: (1.2e-05, 1e-11, 5.7e-11, 7.7e-07),
                Element.SIGNED: (1.2e-05, 1e-11, 5.2e-11, 7.5e-07),
            },
            Kind.RECURRENT: {
                Element.FLOAT32: (2.2e-05, 0.0, 1.5e-10),
                Element.SIGNED: (0.00069,),
            },
            Kind.TRANSCENDENTAL: {
                Element.FLOAT32: (4.3e-06, 0.0, 9.7e-11),
                Element.UNSIGNED: (1.3e-06, 0.0, 3.9e-10),
                Element.SIGNED: (1.2e-06, 0.0, 3.7e-10),
            },
            Kind.REDUCTION: {
                Element.FLOAT32: (5e-05, 0.0, 1.8e-10),
                Element.UNSIGNED: (5.5e-05, 0.0, 2.1e-09),
                Element.SIGNED: (5.7e-05, 0.0, 2.2e-09),
            },
            Kind.RESIZE: {
                Element.FLOAT32: (2.2e-05, 0.0, 7.4e-10),
                Element.UNSIGNED: (2.8e-05, 0.0, 3.6e-09),
                Element.SIGNED: (2.6e-05, 0.0, 3.5e-09),
            },
            Kind.MOVEMENT: {
                Element.FLOAT32: (4.6e-06, 0.0, 2.4e-11),
                Element.UNSIGNED: (4.4e-06, 0.0, 6e-11),
                Element.SIGNED: (4.5e-06, 0.0, 6.5e-11),
            },
            Kind.RESHAPE: {
                Element.FLOAT32: (2.9e-06, 0.0, 1.1e-11),
                Element.UNSIGNED: (3e-06, 0.0, 2.3e-11),
                Element.SIGNED: (3e-06, 0.0, 1.5e-11),
                Element.OTHER: (2.8e-06, 0.0, 1.2e-11),
            },
        }
    ),
)
"""In NumPy on one core of an Intel Xeon with AVX-512, measured with benchmarks/operator_costs.py; taken for all
processors."""
