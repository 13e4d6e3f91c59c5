"""LiteRT: the engine for serialized graphs."""
