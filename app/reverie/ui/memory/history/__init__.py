"""How a memory became what it is: its points in time, who brought which line, restoring."""
