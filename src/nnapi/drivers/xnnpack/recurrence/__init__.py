"""Single steps of recurrent cells as sequences, and those written out; states that stay in the engine."""
