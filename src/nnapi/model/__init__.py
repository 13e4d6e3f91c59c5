"""Models, described by a client: operands, operations, constants."""
