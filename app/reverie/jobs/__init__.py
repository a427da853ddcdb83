"""Background model runs over memories: one package a job; they share `runs` and do not see each other."""
