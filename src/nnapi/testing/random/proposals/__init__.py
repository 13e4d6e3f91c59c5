"""Propose arguments that fit each other, with one function per operation."""
