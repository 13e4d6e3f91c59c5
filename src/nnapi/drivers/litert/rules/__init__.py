"""The rules for LiteRT: the canonical ones, except where its kernels or XNNPACK's are faster or correct otherwise."""
