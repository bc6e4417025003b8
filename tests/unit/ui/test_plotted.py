"""plotext takes longer to import than a key may wait: nothing that draws imports it."""

from __future__ import annotations

import sys

import pytest

from kvtui.measure.figures import Snapshot
from kvtui.ui.look.plots import Plot, Series
from kvtui.ui.planner.curve import Curve
from kvtui.ui.state import StreamState
from kvtui.ui.widgets.bench_panes import BenchPlot
from kvtui.ui.widgets.chart import ChartView
from kvtui.ui.widgets.planner_plot import PlotPane
from kvtui.ui.widgets.plotted import Plotted

POINTS = ((0.0, 1.0), (1.0, 2.0), (2.0, 3.0))


def chart() -> Plotted:
    view = ChartView("rate")
    view._state = StreamState(Snapshot(), series=POINTS)
    return view


def bench() -> Plotted:
    view = BenchPlot(id="plot")
    view.plot = Plot("load", "load", "x", "y", (Series("", POINTS),))
    return view


def planner() -> Plotted:
    view = PlotPane()
    view.curve = Curve("users", ((0, 0), (9, 9 << 30)), 1 << 30, 8 << 30, 7, 1, 2 << 30)
    return view


@pytest.mark.parametrize("make", [chart, bench, planner])
def test_a_picture_waits_for_plotext(make: type, monkeypatch: pytest.MonkeyPatch) -> None:
    view = make()
    monkeypatch.setitem(sys.modules, "plotext", None)  # an import of it fails
    monkeypatch.setattr(Plotted, "can_plot", True)
    with pytest.raises(ImportError):
        view.draw(60, 20)
    monkeypatch.setattr(Plotted, "can_plot", False)
    view.draw(60, 20)
