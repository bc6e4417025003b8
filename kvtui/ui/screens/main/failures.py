"""Pane 3: the failures, looked through, opened and copied; the doctor, called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.language import tr

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from kvtui.doctor.steps import Step
    from kvtui.ui.screens.main.dialogs import Dialogs
    from kvtui.ui.screens.main.opened import Opened
    from kvtui.ui.screens.main.presenting import Presenter
    from kvtui.ui.screens.main.shell import Say
    from kvtui.ui.state import Failure
    from kvtui.ui.widgets.panes import ErrorsPane


class Failures:
    """What can be done with what failed."""

    def __init__(
        self,
        opened: Opened,
        pane: ErrorsPane,
        presenter: Presenter,
        dialogs: Dialogs,
        say: Say,
        options: Mapping[str, Any],
    ) -> None:
        """Nothing has failed yet.

        Args:
            opened: Holds the conductor, which knows what failed.
            pane: Shows one failure.
            presenter: Hides names from an audience.
            dialogs: What is opened over the panes, and the clipboard.
            say: Says what was copied.
            options: The command line's; the doctor keeps to its timeouts.
        """
        self._opened = opened
        self._pane = pane
        self._presenter = presenter
        self._dialogs = dialogs
        self._say = say
        self._options = options

    def open(self) -> None:
        """Open everything known of the failure shown."""
        failure = self._shown()
        if failure is not None:
            from kvtui.ui.draw.evidence import failure_text

            text = failure_text(self._presenter.failure(failure))
            self._dialogs.text(tr("The failure"), text)

    def copy(self) -> None:
        """Copy the failure shown."""
        failure = self._shown()
        if failure is not None:
            from kvtui.ui.draw.evidence import failure_text

            self._dialogs.copy(failure_text(failure))
            self._say(tr("The failure is copied."))

    def copy_report(self) -> None:
        """Copy a report of the failure shown, to be sent to whoever runs the server."""
        failure = self._shown()
        if failure is not None:
            from kvtui.bench.requests.report import report

            text = report(
                failure.verdict,
                failure.evidence,
                at=failure.at,
                figures=failure.figures,
                sent=failure.sent,
            )
            self._dialogs.copy(text)
            self._say(tr("A report is copied: all evidence, no key, none of the prompt's text."))

    def copy_curl(self) -> None:
        """Copy the failed request, else the latest or the next one, as a curl command."""
        conductor = self._opened.conductor
        asked = None if conductor is None else conductor.asked()
        if asked is None:
            self._say(tr("There is no request to copy yet."))
            return
        from kvtui.bench.requests.curl import curl_of

        curl = curl_of(*asked)
        self._dialogs.copy(curl.command)
        names = tr(" and ").join(f"${name}" for name in curl.variables)
        self._say(
            tr("curl copied; it reads {names}.", names=names)
            if names
            else tr("curl copied; it needs no key.")
        )

    def older(self) -> None:
        """Show the failure before."""
        self._look(1)

    def newer(self) -> None:
        """Show the failure after."""
        self._look(-1)

    def _look(self, step: int) -> None:
        conductor = self._opened.conductor
        if conductor is None or self._shown() is None:
            return
        if not conductor.failures.look(step):
            self._say(
                tr("That is the oldest failure.") if step > 0 else tr("That is the latest failure.")
            )
        self._pane.state = conductor.errors

    def _shown(self) -> Failure | None:
        conductor = self._opened.conductor
        failure = None if conductor is None else conductor.errors.selected
        if failure is None:
            self._say(tr("Nothing has failed yet."))
        return failure

    def examine(self) -> None:
        """Examine the endpoint, step by step."""
        conductor = self._opened.conductor
        if conductor is None or conductor.prepared is None:
            self._say(tr("One moment: the endpoint is being prepared."))
            return
        if conductor.running:
            self._say(tr("A stream is running, and a check-up would disturb it: esc stops it."))
            return
        from dataclasses import replace

        from kvtui.ui.screens.doctor import DoctorScreen

        endpoint = replace(conductor.prepared.endpoint, model=conductor.model or None)
        session = conductor.session

        async def begin() -> AsyncIterator[Step]:
            from kvtui.bench.requests.options import timeouts_from_flags
            from kvtui.doctor.case import Case
            from kvtui.doctor.checkup import examine

            async for step in examine(Case(endpoint, timeouts_from_flags(self._options))):
                if session is not None and step.name == "stream" and step.state == "ok":
                    session.settle(endpoint, step.refused)
                yield step

        self._dialogs.open(DoctorScreen(conductor.endpoint.label, begin))
