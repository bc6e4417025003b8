"""The main screen: three panes, and what its keys do, a module for each subject.

``screen`` holds the screen; each other module is one mixin of it, with the commands of one subject.
"""
