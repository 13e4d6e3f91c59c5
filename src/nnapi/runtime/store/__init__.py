"""What is kept on disk: compilations, plans, digests."""
