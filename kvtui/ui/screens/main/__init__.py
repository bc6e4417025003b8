"""The main screen: three panes, and what its keys do.

``screen`` arranges the panes and says who does what for each command of the table. Each other
module is one collaborator with the commands of one subject; it is given what it needs, knows
nothing of the screen, and finds in ``opened`` what has been loaded and begun so far.
"""
