"""``python -m nnapi.litert program.py …``: see :mod:`nnapi.drop_in`."""

from nnapi import drop_in

if __name__ == "__main__":
    drop_in.main("litert")
