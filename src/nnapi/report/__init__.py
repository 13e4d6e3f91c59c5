"""Benchmarks, HTML pages and notebooks."""
