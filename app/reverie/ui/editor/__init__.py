"""The editor of a memory: open files, drafts, merging of changes by others, find bar, form and preview."""
