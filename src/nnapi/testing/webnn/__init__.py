"""The W3C's conformance tests of WebNN, as JSON files: each is one operator with inputs, results and a tolerance."""
