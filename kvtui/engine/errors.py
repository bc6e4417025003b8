"""The engine's own errors; each message is one clear sentence for the user."""

from __future__ import annotations


class EngineError(Exception):
    """Something is wrong that a user can act on; `str()` is one sentence."""


class ModelFileError(EngineError):
    """A model file is missing, damaged, foreign, or of a kind the engine cannot run."""


class QueueFullError(EngineError):
    """Every slot is taken and the queue has reached its bound."""


class EngineStoppedError(EngineError):
    """The engine no longer takes requests."""


class EngineStartError(EngineError):
    """The engine's child process could not be started, or ended before it was ready."""


class EngineModelError(EngineStartError):
    """The child could not use the model it was told to: the user's to mend, not the engine's."""
