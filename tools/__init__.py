"""Programs for developers, each run as ``python -m tools.NAME`` in the root of the repository.

They build and check releases, generate pages and stubs, fuzz services and agents, and measure the source and its tests.
"""
