"""The compilation cache: what drivers prepared and plans, as entries of the store."""
