"""Experiments and runs as the screen holds them: pure states, apart from widgets."""
