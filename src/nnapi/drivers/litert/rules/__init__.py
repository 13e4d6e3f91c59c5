"""LiteRT's rules: canonical rules, except where its kernels or XNNPACK's need other operators to be correct or fast."""
