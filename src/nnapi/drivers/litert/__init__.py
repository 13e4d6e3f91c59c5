"""LiteRT: what runs a serialised graph."""
