"""What all graphs share: the data flow between nodes, patterns of nodes, and the replacement of what a pattern matches.

Graphs of files, of engines and of models all have nodes with inputs and outputs.
"""
