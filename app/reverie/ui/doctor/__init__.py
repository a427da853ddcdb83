"""The Doctor tab: the checks as a list one can act on."""
