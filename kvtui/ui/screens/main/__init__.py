"""The main screen: three panes, and what its keys do.

``stage`` arranges the panes; ``screen`` feeds them and takes messages; ``parts`` says which part
carries out which command of the table. Each other module is one part, with the commands of one
subject: it is given what it needs, knows nothing of the screen, and finds in ``opened`` what has
been loaded and begun so far.
"""
