"""`python -m reverie` and the `reverie` script."""

import sys

from reverie.cli.main import main as run


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
