"""The history of every change: one bare git repository per home. Other packages use `history.History`."""
