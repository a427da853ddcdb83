"""Files as such: atomic and contained writes, sidecars, leases, locks, the watcher. No agent is known."""
