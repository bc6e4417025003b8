"""Pure drawing: a frozen state and a size in, rows of text out. No widget, no colour, no clock."""
