"""The history of every change: one bare git repository for each home. `history` is the door."""
