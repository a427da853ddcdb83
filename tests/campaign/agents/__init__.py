"""The published programs of the agents beside Reverie, on homes that the programs make themselves."""
