"""Random models, compared with the reference: drawing, judging and shrinking them."""
