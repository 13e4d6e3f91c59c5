"""The Python side of libnnapi_delegate.so: LiteRT's graphs, the partitions that it claims, and their runs."""
