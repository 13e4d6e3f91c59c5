"""What the client describes: operands, operations, constants, models."""
