"""Screens arrange widgets; they hold no figures of their own."""
