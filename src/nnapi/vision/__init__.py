"""Pictures as inputs of models, and outputs as boxes, masks, key points and classes, in words and drawn.

``families`` has one file for each kind of model: how it is recognized, how its input is prepared, how its outputs are
decoded and drawn. Pillow is imported on demand.
"""
