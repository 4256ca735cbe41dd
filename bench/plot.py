"""The picture of the requests a second: one panel an operation, one bar an engine, drawn the same way every time."""

from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from bench.http import Rates
from bench.workload import OPERATIONS

OURS, PEER = "#2563eb", "#9ca3af"


def draw(measured: Rates, path: Path) -> None:
    """Writes the picture as SVG, without a date or random ids in it."""
    names = [engine.name for engine in measured.engines]
    colours = [PEER if engine.peer else OURS for engine in measured.engines]
    with rc_context({"svg.hashsalt": "partita", "font.size": 9}):
        figure = Figure(figsize=(12, 0.6 + 0.4 * len(names)), layout="constrained")
        panels = figure.subplots(1, len(OPERATIONS), sharey=True)
        for panel, operation in zip(panels, OPERATIONS, strict=True):
            bars = panel.barh(names, [measured.rates[name, operation] for name in names], color=colours)
            panel.bar_label(bars, fmt="{:,.0f}", padding=2)
            panel.set_title(f"{operation}, requests a second", fontsize=9)
            panel.margins(x=0.25)
            panel.xaxis.set_visible(False)
            panel.spines[["top", "right", "bottom"]].set_visible(False)
        panels[0].invert_yaxis()
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
