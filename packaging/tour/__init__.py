"""The tour: a walk through the window, without a display, that takes pictures of all there is to see.

A tool of the developers, started by `packaging/pictures.py` and not installed. `guide` knows the order;
`memory`, `tabs` and `agents` each show one part of the window; `camera` waits and takes the pictures.
"""
