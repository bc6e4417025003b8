"""What the Experiments screen keeps while it is away: the settings typed, and the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvtui.bench.requests.options import RunOptions
from kvtui.bench.running.presets import PRESETS
from kvtui.bench.work.workload import Workload
from kvtui.language import tr
from kvtui.telemetry.places import is_local
from kvtui.ui.experiments.form import Asked, ask, fields_of
from kvtui.ui.state import is_demo

if TYPE_CHECKING:
    from kvtui.bench.records.record import Record
    from kvtui.ui.experiments.experiment import Experiment
    from kvtui.ui.stream.conductor import Conductor


class Lab:
    """One for the app; it holds at most one run, the latest."""

    def __init__(
        self,
        conductor: Conductor,
        options: Mapping[str, Any],
        *,
        on_begin: Callable[[], object],
        on_over: Callable[[], object],
    ) -> None:
        """Nothing is sent before ``begin``.

        Args:
            conductor: The main screen's: its session, endpoint and model are used.
            options: The command line's, for what all requests have in common.
            on_begin: Told when a run has begun.
            on_over: Told when a run has ended, on the run's thread.
        """
        self.conductor = conductor
        self.preset = next(iter(PRESETS))
        self.texts: dict[str, dict[str, str]] = {}
        """Preset → the fields as typed."""
        self.experiment: Experiment | None = None
        self.unseen = False
        """The run began, and what it came to has not been shown yet."""
        self.beginning = False
        """A run is being made ready, off the screen's thread."""
        self._options = dict(options)
        self._on_begin = on_begin
        self._on_over = on_over

    @property
    def running(self) -> bool:
        """A run is under way."""
        return self.experiment is not None and not self.experiment.over

    @property
    def busy(self) -> bool:
        """A run is under way, or about to begin: nothing else may."""
        return self.running or self.beginning

    @property
    def embedded(self) -> bool:
        """The engine is our own."""
        prepared = self.conductor.prepared
        return prepared is None or prepared.endpoint.embedded

    @property
    def where(self) -> str:
        """Endpoint and model, free of secrets."""
        view = self.conductor.endpoint
        if self.conductor.prepared is None and not view.problem:
            return tr("an endpoint that is still being prepared")
        return f"{tr(view.label)} ▸ {view.model}" if view.model else tr(view.label)

    def places(self, work: Workload | Record) -> str:
        """Where it goes: the endpoint, or those that it names itself."""
        targets = (work if isinstance(work, Workload) else work.workload).targets
        apart = [target.name for target in targets if not target.embedded]
        return ", ".join(target.name for target in targets) if apart else self.where

    def may_cost(self, work: Workload | Record) -> bool:
        """An endpoint is another's: what is sent to it may be charged for."""
        targets = (work if isinstance(work, Workload) else work.workload).targets
        if any(t.profile or (t.base_url and not is_local(t.base_url)) for t in targets):
            return True
        if targets:
            return False
        prepared = self.conductor.prepared
        if prepared is None or prepared.endpoint.embedded:
            return False
        return not is_local(prepared.endpoint.base_url)

    def ask(self) -> Asked:
        """What the fields of the chosen preset amount to."""
        prepared = self.conductor.prepared
        fields = fields_of(PRESETS[self.preset], embedded=self.embedded)
        seats = self._options.get("max_num_seqs") or RunOptions().max_num_seqs
        return ask(
            fields,
            self.texts.get(self.preset, {}),
            embedded=self.embedded,
            context=None if prepared is None else prepared.context,
            seats=int(seats),
        )

    def why_not(self) -> str:
        """Why no run can begin now, one sentence; empty where one can."""
        if self.busy:
            return tr("An experiment is running already.")
        conductor = self.conductor
        if conductor.mark:
            return tr("A recorded run is on the screen: E on the main screen chooses an endpoint.")
        if conductor.running:
            return tr(
                "A stream is running on the main screen: stop it first, it would be measured too."
            )
        if conductor.session is None or conductor.prepared is None or not conductor.endpoint.ready:
            return conductor.endpoint.problem or tr("The endpoint is still being prepared.")
        if not conductor.model:
            return tr("No model is chosen: x leads back, M shows what the server offers.")
        if conductor.endpoint.embedded and is_demo(conductor.model):
            return tr(
                "{model} is a demo, there is nothing to measure: x leads back, M to a model.",
                model=conductor.model,
            )
        return ""

    def prepare(self, work: Workload | Record, path: Path | None = None) -> Experiment:
        """Make a run, or the rest of a half-done record, ready to ``begin``.

        Blocks: files are read, written and locked. Not for the screen's thread.

        Raises:
            RecordError: Its record cannot be written, or is one of another endpoint.
        """
        from kvtui.bench.records.begin import begin, request_of
        from kvtui.bench.records.record import Record
        from kvtui.ui.experiments.experiment import Experiment

        conductor = self.conductor
        session: Any = conductor.session
        prepared: Any = conductor.prepared
        request = request_of(prepared, conductor.model, {**self._options, "no_kv_cache": None})
        begun = begin(session, prepared, request, work, path)
        return Experiment(
            begun,
            work.workload if isinstance(work, Record) else work,
            self.where,
            done=work.done if isinstance(work, Record) else (),
            on_over=self._on_over,
        )

    def begin(self, experiment: Experiment) -> None:
        """Begin a run that was prepared."""
        self.experiment = experiment
        self.unseen = True
        experiment.start()
        self._on_begin()

    def close(self) -> None:
        """Stop what runs; its record is whole and can be resumed."""
        if self.experiment is not None:
            self.experiment.close()
