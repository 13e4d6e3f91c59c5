"""Exact conversion of networks with unsigned filters to signed filters: :func:`rewrite.sign_weights` and its parts."""
