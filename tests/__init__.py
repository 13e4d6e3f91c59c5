"""The tests. Folders in it are the rooms of src/nnapi; what tests of a room share lies beside them."""
