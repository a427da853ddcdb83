"""The Changes tab: all changes of a home with their authors, and the actions that undo them."""
