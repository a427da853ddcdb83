"""Controls that several views share."""
