"""LiteRT: the engine that runs a serialized graph."""
