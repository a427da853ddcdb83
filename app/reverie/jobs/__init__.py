"""Background model runs over memories, one package per job; all use `runs`, none imports another."""
