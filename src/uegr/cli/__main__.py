"""`python -m uegr.cli`: the command line, where the script is not on the path."""

from uegr.cli.program import main

if __name__ == "__main__":
    main()
