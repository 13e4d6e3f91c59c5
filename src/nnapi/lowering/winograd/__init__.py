"""Convolutions with fewer multiplications: Winograd's minimal filtering, written in NNAPI operations."""
