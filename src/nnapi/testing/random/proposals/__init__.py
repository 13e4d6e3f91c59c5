"""Arguments that fit each other, one proposer per operation."""
