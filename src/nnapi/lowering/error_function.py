"""The polynomial with which importers approximate erf, which NNAPI lacks. Engines with erf or GELU recognize it."""

ERROR_FUNCTION = (4.51351881, 6.5769906, -0.188809052, -10.2517853, 23.5175648, -25.1055794, 10.6673126)
"""Coefficients of u, u³, u⁵, …: erf(4u) is about tanh of the polynomial, for u from -1 to 1."""
SCALE = 4.0
"""The argument of erf divided by u, the polynomial's variable."""
