"""Files: atomic and contained writes, sidecars, leases, locks and the watcher. Independent of agents."""
