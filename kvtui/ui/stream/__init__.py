"""Requests run for the screen: their text kept and searched, frames handed to the panes."""
