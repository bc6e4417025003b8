"""Property tests of the screen's parts: few examples, and no deadline on a busy machine."""

from hypothesis import settings

settings.register_profile("screen", deadline=None, max_examples=60)
settings.load_profile("screen")
