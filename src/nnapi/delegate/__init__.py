"""The Python side of libnnapi_delegate.so: LiteRT's graphs, the claimed partitions and their runs."""
