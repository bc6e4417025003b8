"""Widgets: each shows one frozen state, drawn as rows by ``kvtui.ui.draw``."""
