"""Files: atomic and contained writes, sidecars, leases, locks and the watcher. Knows nothing of agents."""
