"""``python -m nnapi`` is the command ``nnapi``."""

from nnapi.cli import main

if __name__ == "__main__":
    main()
