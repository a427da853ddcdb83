"""Background runs over memories: one package per job. All of them use `runs`; none imports another."""
