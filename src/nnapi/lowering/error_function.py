"""The polynomial by which importers compute erf, which NNAPI lacks; engines that have erf or GELU recognize it."""

ERROR_FUNCTION = (4.51351881, 6.5769906, -0.188809052, -10.2517853, 23.5175648, -25.1055794, 10.6673126)
"""Coefficients of u, u³, u⁵, …: erf(4u) is about the hyperbolic tangent of their sum, u from -1 to 1."""
SCALE = 4.0
"""The argument of erf divided by u."""
