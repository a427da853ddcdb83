"""What holds for every test: a home of its own, no network, no leaked threads, no unexpected warnings.

One module of `helpers` per rule; `helpers.around` puts them around each test. `helpers.isolation` comes
first: it sets the environment while pytest loads this file, before a test module can import Qt or work out a
home directory.
"""

from __future__ import annotations

pytest_plugins = [
    "helpers.isolation",
    "helpers.guards",
    "helpers.around",
    "helpers.profiles",
    "helpers.thrift",
    "helpers.sampled",
    "helpers.told",
]
