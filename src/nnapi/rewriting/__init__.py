"""The data flow of any graph, whose nodes have inputs and outputs; patterns of nodes; the replacement of matches."""
