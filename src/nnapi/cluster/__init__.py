"""Runs outside of the process that asks for them: a callable for other programs' workers, shards on Ray."""
