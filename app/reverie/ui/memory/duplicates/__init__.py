"""Memories that say the same: found, shown beside each other, merged by hand."""
