"""Pictures as inputs of models, and outputs as boxes, masks, key points and classes, in words and drawn."""
