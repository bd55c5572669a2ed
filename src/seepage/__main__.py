"""`python -m seepage`: the command line, where `seepage` is not on the path."""

from seepage.cli import main

if __name__ == "__main__":
    main()
