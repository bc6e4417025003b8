"""The screen: three panes on one Textual app. From above, each folder knows only those below it.

- ``app`` wires screens and themes; ``screens`` arrange widgets and carry out commands, ``main``
  among them a part for each subject; ``widgets`` show rows; ``draw`` turns a state into rows,
  purely.
- ``opening`` loads everything behind the screen after the first frame, and keeps the session.
- ``stream``, ``memory``, ``endpoint``, ``experiments``, ``planner``, ``adviser``, ``prompt`` and
  ``tour`` are what the screens are about: they take choices and events and give the frozen states
  of ``state``.
- ``look``, ``layout`` and ``terminal`` are colours and rows, places, and the device.
- ``commands`` is the one table that feeds keys, footer, help and palette.

Nothing here imports openai, numpy or plotext before the first frame.
"""
