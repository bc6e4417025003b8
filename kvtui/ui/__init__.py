"""The screen: three panes on one Textual app.

``app`` wires screens, commands and themes. ``commands`` is the one table that feeds keys, footer,
help and palette. ``conductor`` owns the session and turns a run into frozen states; ``draw`` turns
a state into rows of text, purely; ``widgets`` show rows; ``screens`` arrange widgets. Nothing here
imports openai, numpy or plotext before the first frame.
"""
