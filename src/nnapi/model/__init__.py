"""Models as a client describes them: operands, operations, constants."""
