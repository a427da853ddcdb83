"""`python -m reverie` and the `reverie` script."""

import sys

from reverie.cli.main import main as run


def main() -> None:
    """Run the command line and exit with its code."""
    if sys.argv[1:] == ["_helper"]:
        from reverie.helper.serve import main as serve

        sys.exit(serve())
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
