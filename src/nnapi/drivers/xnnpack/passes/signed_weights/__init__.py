"""Unsigned networks as signed ones, exactly: :func:`rewrite.sign_weights` and what it is made of."""
