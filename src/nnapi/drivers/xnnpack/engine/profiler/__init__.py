"""What each operator takes, by LiteRT's own profiler: for traces."""
