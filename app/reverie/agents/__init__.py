"""What each agent keeps on disk, and the interface that the rest of the program knows. `base` is the door."""
