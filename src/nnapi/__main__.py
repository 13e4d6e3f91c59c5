"""Run ``python -m nnapi`` as the command ``nnapi``."""

from nnapi_command import main

if __name__ == "__main__":
    main()
