"""Random models beside the reference: drawing, judging and shrinking them."""
