"""Sizes that are known only at a run: symbols, expressions in them, guards on them, and constants that depend on them.

An import computes with a :class:`~nnapi.shapes.size.Size` as with an int. Where it must know the number (to compare it,
or to pass it to NumPy), the import's :class:`~nnapi.shapes.symbols.Symbols` record a guard.
"""
