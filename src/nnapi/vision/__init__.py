"""Pictures as inputs of models; boxes, masks, key points and classes as outputs, in words and drawn."""
