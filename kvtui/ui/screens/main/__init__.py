"""The main screen: three panes, and what its keys do, a module for each subject."""
