import math

import numpy as np

from nnapi.ops.smooth_activations import ERROR_FUNCTION, SCALE


def test_the_polynomial_approximates_the_error_function() -> None:
    u = np.linspace(-1, 1, 2001)
    total = sum(factor * u ** (2 * i + 1) for i, factor in enumerate(ERROR_FUNCTION))
    expected = np.array([math.erf(SCALE * each) for each in u])
    np.testing.assert_allclose(np.tanh(total), expected, 0, 1.5e-7)
