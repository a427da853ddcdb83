"""Whether what a memory says of its repository is still true: claims, the repository's objects, verdicts."""
