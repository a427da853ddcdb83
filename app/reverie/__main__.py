"""Entry point of `python -m reverie` and of the `reverie` script.

People start Reverie in other people's checkouts, so nothing may be imported from the current directory. The
first lines of this module prevent such imports before anything else is imported. Only `python -m reverie`
itself still searches the current directory for the package `reverie`; the script and the engine do not.
"""

import os
import sys

# Importing pathlib would already look for its own imports in the current directory.
_is_absolute = os.path.isabs


def drop_current_directory(*, run_as_module: bool) -> None:
    """Remove the current directory from `sys.path` and from PYTHONPATH, so that nothing is imported from it.

    Relative paths are removed too. PYTHONPATH is changed for child processes. `run_as_module`: whether Python
    was started with `-m`. In that case Python puts the current directory first in `sys.path`, unless it was
    also started with `-P`; this entry is removed.
    """
    if run_as_module and not sys.flags.safe_path:
        del sys.path[0]
    listed = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    relative = {os.path.realpath(entry) for entry in listed if not _is_absolute(entry)}
    if relative and "PYTHONPATH" in os.environ:
        os.environ["PYTHONPATH"] = os.pathsep.join(entry for entry in listed if _is_absolute(entry))
        # Python has made them absolute by now.
        sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) not in relative]
    sys.path[:] = [entry for entry in sys.path if _is_absolute(entry)]


if not getattr(sys, "frozen", False):
    drop_current_directory(run_as_module=__name__ == "__main__")


def main() -> None:
    """Run the program with the arguments in `sys.argv` and exit with its exit code.

    If the first argument is `_engine` or `_repository`, this process becomes Reverie's engine or its reader
    of git repositories. Otherwise the arguments are those of the command line. Only the needed modules are
    imported.
    """
    if sys.argv[1:2] == ["_engine"]:
        from reverie.engine.process import main as engine_main

        sys.exit(engine_main(sys.argv[2:]))
    if sys.argv[1:2] == ["_repository"]:
        from reverie.claims.apart import main as repository_main

        sys.exit(repository_main(sys.argv[2:]))
    from reverie.cli.main import main as run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
