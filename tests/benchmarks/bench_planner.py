"""What a key in the planner costs: `python -m tests.benchmarks.bench_planner`.

Each figure is what one keystroke recomputes before its frame: the answer, the smallest cards, the
flags, and the rows drawn (target: under 10 ms). The plot and the grid, drawn at most three times a
second, stand apart. Median and worst of many, over models and engines, in CPU time of the thread:
other programs on the machine are left out. The tables and plotext are loaded before.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace

from kvtui.ui.draw.planner import answer_rows
from kvtui.ui.planner.answer import Planner
from kvtui.ui.planner.curve import draw_curve, fit_grid
from kvtui.ui.planner.form import PlannerForm
from kvtui.ui.widgets.planner_plot import draw_plot

MODELS = ("Llama-3.1-8B", "Llama-3.1-70B", "gpt-oss-20b", "DeepSeek-V3", "Qwen3-Next-80B-A3B")
ENGINES = ("formula", "vllm", "llama.cpp", "sglang")
LENGTHS = (("1024", "1"), ("4096", "8"), ("32768", "64"), ("131072", "256"), ("1m", "100000"))


def milliseconds(action: Callable[[], object]) -> float:
    start = time.thread_time()
    action()
    return 1000 * (time.thread_time() - start)


def main() -> None:
    planner = Planner()
    loaded = planner.update(PlannerForm()).told
    assert loaded is not None
    draw_plot(draw_curve(loaded, "context"), 78, 11)
    keys: dict[str, list[float]] = {}
    plots: list[float] = []
    for _ in range(3):
        for engine in ENGINES:
            for model in MODELS:
                form = PlannerForm(model=model, card="H100", gpus="2", engine=engine)
                for context, users in LENGTHS:
                    asked = replace(form, context=context, users=users)

                    def key(asked: PlannerForm = asked) -> None:
                        answer_rows(planner.update(asked), 78, 22)

                    keys.setdefault(f"{engine} {model}", []).append(milliseconds(key))
                    told = planner.update(asked).told
                    assert told is not None

                    def plot(told: object = told) -> None:
                        fit_grid(told)  # type: ignore[arg-type]
                        draw_plot(draw_curve(told, "context"), 78, 11)  # type: ignore[arg-type]

                    plots.append(milliseconds(plot))
    keys["all keys"] = [value for values in keys.values() for value in values]
    keys["plot and grid"] = plots
    for name, values in keys.items():
        print(f"{name:<32} median {statistics.median(values):5.2f} ms  worst {max(values):6.2f}")


if __name__ == "__main__":
    main()
