"""The editor of a memory: open files, drafts, live merge, find bar, front matter, preview."""
