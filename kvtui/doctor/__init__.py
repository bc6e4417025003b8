"""The check-up of an endpoint: settings, network, key, models, a streamed request, step by step."""

from kvtui.doctor.steps import Step

__all__ = ["Step"]
