"""Unsigned networks as signed ones, exactly: :func:`narrow.narrowed` and what it is made of."""
