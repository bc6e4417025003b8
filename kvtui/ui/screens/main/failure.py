"""What the commands on failures do, as a mixin of the main screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.language import tr

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from textual.app import App

    from kvtui.doctor.steps import Step
    from kvtui.ui.look.veil import Veil
    from kvtui.ui.state import Failure
    from kvtui.ui.stream.conductor import Conductor
    from kvtui.ui.widgets.panes import ErrorsPane


class FailureActions:
    """Actions; each is one command."""

    if TYPE_CHECKING:
        app: App[Any]
        conductor: Conductor | None
        errors: ErrorsPane
        veil: Veil | None

        # Of the screen's other half:
        # ruff: noqa: D102
        def say(self, sentence: str, severity: Any = "information") -> None: ...

    def action_body(self) -> None:
        """Open everything known of the failure shown."""
        failure = self._failure()
        if failure is not None:
            from kvtui.ui.draw.evidence import failure_text
            from kvtui.ui.screens.body import BodyScreen

            if self.veil is not None:
                failure = self.veil.failure(failure)
            self.app.push_screen(BodyScreen(tr("The failure"), failure_text(failure)))

    def action_copy_failure(self) -> None:
        """Copy the failure shown."""
        failure = self._failure()
        if failure is not None:
            from kvtui.ui.draw.evidence import failure_text

            self.app.copy_to_clipboard(failure_text(failure))
            self.say(tr("The failure is copied."))

    def action_copy_report(self) -> None:
        """Copy a report of the failure shown, to be sent to whoever runs the server."""
        failure = self._failure()
        if failure is not None:
            from kvtui.bench.requests.report import report

            text = report(
                failure.verdict,
                failure.evidence,
                at=failure.at,
                figures=failure.figures,
                sent=failure.sent,
            )
            self.app.copy_to_clipboard(text)
            self.say(tr("A report is copied: all evidence, no key, none of the prompt's text."))

    def action_copy_curl(self) -> None:
        """Copy the failed request, else the latest or the next one, as a curl command."""
        conductor = self.conductor
        asked = None if conductor is None else conductor.asked()
        if asked is None:
            self.say(tr("There is no request to copy yet."))
            return
        from kvtui.bench.requests.curl import curl_of

        curl = curl_of(*asked)
        self.app.copy_to_clipboard(curl.command)
        names = " and ".join(f"${name}" for name in curl.variables)
        self.say(
            tr("curl copied; it reads {names}.", names=names)
            if names
            else tr("curl copied; it needs no key.")
        )

    def action_older(self) -> None:
        """Show the failure before."""
        self._look(1)

    def action_newer(self) -> None:
        """Show the failure after."""
        self._look(-1)

    def _look(self, step: int) -> None:
        if self.conductor is None or self._failure() is None:
            return
        if not self.conductor.failures.look(step):
            self.say(
                tr("That is the oldest failure.") if step > 0 else tr("That is the latest failure.")
            )
        self.errors.state = self.conductor.errors

    def _failure(self) -> Failure | None:
        failure = None if self.conductor is None else self.conductor.errors.selected
        if failure is None:
            self.say(tr("Nothing has failed yet."))
        return failure

    def action_doctor(self) -> None:
        """Examine the endpoint, step by step."""
        conductor = self.conductor
        if conductor is None or conductor.prepared is None:
            self.say(tr("One moment: the endpoint is being prepared."))
            return
        if conductor.running:
            self.say(tr("A stream is running, and a check-up would disturb it: esc stops it."))
            return
        from dataclasses import replace

        from kvtui.ui.screens.doctor import DoctorScreen

        options = getattr(self.app, "options", {})
        endpoint = replace(conductor.prepared.endpoint, model=conductor.model or None)
        session = conductor.session

        async def begin() -> AsyncIterator[Step]:
            from kvtui.bench.requests.options import timeouts_from_flags
            from kvtui.doctor.case import Case
            from kvtui.doctor.checkup import examine

            async for step in examine(Case(endpoint, timeouts_from_flags(options))):
                if session is not None and step.name == "stream" and step.state == "ok":
                    session.settle(endpoint, step.refused)
                yield step

        self.app.push_screen(DoctorScreen(conductor.endpoint.label, begin))
