"""Choosing between plans by running them."""
