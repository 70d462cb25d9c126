"""Online identification live in the browser: the robot moves, with estimates and torque errors beside it."""

import contextlib
import html
import threading
import time
from collections.abc import Iterable, Iterator

import numpy as np
import viser
from viser import uplot

from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.online.history import HistoryRow
from robodyn_pin.online.stream import ProcessedSample
from robodyn_pin.online.tracker import Tracker
from robodyn_pin.viz.online import short_label
from robodyn_pin.viz.panel_text import CAPTION, GOOD, TABLE, TITLE, panel_html
from robodyn_pin.viz.plots import FEASIBLE, MEASURED, WLS
from robodyn_pin.viz.viser_page import ViserPage

FRAME = 0.05  # [s] between two updates of the drawn robot
SHOWN = 120  # latest rows that the charts show


class LivePage(ViserPage):
    """A live page of a tracker."""

    def __init__(self, tracker: Tracker, simulated: bool, port: int | None = None):
        self._tracker, self._lock = tracker, threading.RLock()
        self._title = "SIMULATED log" if simulated else "log"
        self._rows: list[HistoryRow] = []
        super().__init__(tracker.tracked.robot, port)

    def _build(self, gui: viser.GuiApi) -> None:
        self._state = gui.add_html("")
        none = np.zeros(1)
        self._errors = gui.add_uplot(
            (none, none, none),
            (uplot.Series(label="t [s]"), uplot.Series(label="at the start", stroke=WLS, width=2),
             uplot.Series(label="tracked", stroke=FEASIBLE, width=2)),
            title="Torque error, rms over the rms torque [%]", scales={"x": uplot.Scale(time=False)}, aspect=1.9,
        )  # fmt: skip
        self._chosen = gui.add_dropdown(
            "Parameter [SI]", self._tracker.tracked.labels, hint="The chart below shows it with its 95 % band"
        )
        self._chosen.on_update(lambda _: self._draw())
        pen = {"stroke": "rgba(0,0,0,0)"}
        self._estimate = gui.add_uplot(
            (none, none, none, none, none),
            (uplot.Series(label="t [s]"), uplot.Series(label="low", **pen), uplot.Series(label="high", **pen),
             uplot.Series(label="estimate", stroke=FEASIBLE, width=2),
             uplot.Series(label="start", stroke=MEASURED, width=1, dash=(4, 4))),
            bands=(uplot.Band(series=(2, 1), fill="rgba(0,114,178,0.2)"),),
            scales={"x": uplot.Scale(time=False)}, aspect=1.9,
        )  # fmt: skip
        self._table = gui.add_html("")

    def paced(self, samples: Iterable[ProcessedSample], speed: float) -> Iterator[ProcessedSample]:
        """The samples at `speed` times their own pace; the drawn robot follows them."""
        robot, clock, first, drawn = self._tracker.tracked.robot, time.monotonic(), None, -np.inf
        for sample in samples:
            first = sample.t if first is None else first
            due = clock + (sample.t - first) / speed
            if sample.t - drawn >= FRAME * speed:
                drawn = sample.t
                time.sleep(max(0.0, due - time.monotonic()))
                still = np.zeros((1, len(sample.q)))
                with contextlib.suppress(ClosureFailed):  # a bad sample; the robot stays where it is
                    self._robot_scene.show(close_motors(robot, sample.q[None], still, still).q[0])
            yield sample

    def show(self, row: HistoryRow) -> None:
        """Add a row to charts and tables."""
        self._rows = [*self._rows, row][-SHOWN:]
        self._draw()

    def _draw(self) -> None:
        with self._lock:
            if not self._rows:
                return
            rows, tracker = self._rows, self._tracker
            t = np.array([row.t for row in rows])
            errors = [_percent(rows, which) for which in ("start_error", "error")]
            k = tracker.tracked.labels.index(self._chosen.value)
            value, reach = (np.array([getattr(row, f)[k] for row in rows]) for f in ("values", "deviations"))
            reach = 1.96 * reach
            with self._server.atomic():
                self._errors.data = (t, *errors)
                self._estimate.data = (t, value - reach, value + reach, value, np.full_like(t, tracker.start[k]))
                self._state.content = panel_html(_state(tracker, rows[-1], self._title))
                self._table.content = panel_html(_table(tracker, rows[-1]))


def _percent(rows: list[HistoryRow], which: str) -> np.ndarray:
    """Error of all coordinates together over their efforts [%], one for each row."""
    error, effort = (np.array([getattr(row, k) for row in rows]) for k in (which, "effort"))
    return np.asarray(100 * np.linalg.norm(error, axis=1) / np.maximum(np.linalg.norm(effort, axis=1), 1e-12))


def _state(tracker: Tracker, row: HistoryRow, title: str) -> str:
    """Time, payload, refused samples and the last changes."""
    lines = [f"{title}: {row.t:.1f} s, {tracker.estimator.samples} samples"]
    if tracker.tracked.payload is not None:
        lines.append(f"payload picked since the start: {row.carried:+.3f} kg")
    lines += [f"samples refused ({reason}): {count}" for reason, count in tracker.refused.items()]
    lines += [
        f"{c.begin:.2f} s: {'payload' if c.explained else 'change that no payload explains'}"
        + (f" {c.size:+.3f} ± {c.deviation:.3f} kg" if c.explained else "")
        for c in tracker.changes[-3:]
    ]
    text = "".join(f"<div>{html.escape(line)}</div>" for line in lines)
    return (
        f'<div id="tracked" style="font-size:12px" data-t="{row.t:.3f}" data-carried="{row.carried:.4f}">{text}</div>'
    )


def _table(tracker: Tracker, row: HistoryRow) -> str:
    """Every parameter with estimate, standard deviation, and a bar of its excited share."""
    rows = "".join(
        f"<tr><td>{html.escape(short_label(name))}</td><td style='text-align:right'>{x:.4g}</td>"
        f"<td style='text-align:right'>± {s:.1g}</td><td style='width:70px'><div style='background:#e9ecef'>"
        f"<div style='background:{GOOD};height:8px;width:{100 * share:.0f}%'></div></div></td></tr>"
        for name, x, s, share in zip(tracker.tracked.labels, row.values, row.deviations, row.excited_share, strict=True)
    )
    caption = f'<div style="{CAPTION}">± standard deviation. Bars: how far the motion determines the parameter.</div>'
    return f'<div style="{TITLE}">Estimates [SI]</div><table id="estimates" style="{TABLE}">{rows}</table>{caption}'
