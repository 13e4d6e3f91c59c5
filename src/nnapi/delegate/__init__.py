"""What libnnapi_delegate.so asks: LiteRT's graphs, the parts of them that are ours, and their runs."""
