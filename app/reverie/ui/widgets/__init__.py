"""Controls that several views of the window use."""
