"""The tour: a walk through the window, without a display, that takes a picture of each of its parts.

It is a tool for developers, started by `packaging/pictures.py` and not installed. `guide` determines the
order; `memory`, `tabs` and `agents` each show one part of the window; `camera` waits and takes the pictures.
"""
