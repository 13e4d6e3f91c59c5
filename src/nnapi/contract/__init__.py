"""The contract between the runtime and drivers: their protocols, and code that drivers share."""
