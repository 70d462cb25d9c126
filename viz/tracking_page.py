"""Online identification as it happens, in the browser: the robot moves, estimates and torque errors beside it."""

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
from robodyn_pin.online.history import Moment
from robodyn_pin.online.stream import Measured
from robodyn_pin.online.tracker import Tracker
from robodyn_pin.viz.online import short
from robodyn_pin.viz.panel_text import CAPTION, GOOD, TABLE, TITLE, page
from robodyn_pin.viz.plots import FEASIBLE, MEASURED, WLS
from robodyn_pin.viz.viser_page import Served

FRAME = 0.05  # [s] between two pictures of the robot
SHOWN = 120  # moments that charts show


class LivePage(Served):
    """A live page of a tracker."""

    def __init__(self, tracker: Tracker, simulated: bool, port: int | None = None):
        self._tracker, self._lock = tracker, threading.RLock()
        self._title = "SIMULATED log" if simulated else "log"
        self._moments: list[Moment] = []
        super().__init__(tracker.tracked.robot, port)

    def _build(self, gui: viser.GuiApi) -> None:
        self._state = gui.add_html("")
        none = np.zeros(1)
        self._errors = gui.add_uplot(
            (none, none, none),
            (uplot.Series(label="t [s]"), uplot.Series(label="start", stroke=WLS, width=2),
             uplot.Series(label="tracked", stroke=FEASIBLE, width=2)),
            title="Rms torque error over the rms torque [%]", scales={"x": uplot.Scale(time=False)}, aspect=1.9,
        )  # fmt: skip
        self._chosen = gui.add_dropdown("Parameter [SI]", self._tracker.tracked.labels, hint="Shown with its 95 % band")
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

    def paced(self, samples: Iterable[Measured], speed: float) -> Iterator[Measured]:
        """The samples at `speed` times their own pace, the robot drawn along."""
        robot, clock, first, drawn = self._tracker.tracked.robot, time.monotonic(), None, -np.inf
        for measured in samples:
            first = measured.t if first is None else first
            due = clock + (measured.t - first) / speed
            if measured.t - drawn >= FRAME * speed:
                drawn = measured.t
                time.sleep(max(0.0, due - time.monotonic()))
                still = np.zeros((1, len(measured.q)))
                with contextlib.suppress(ClosureFailed):  # a bad sample; the robot stays where it is
                    self._stage.show(close_motors(robot, measured.q[None], still, still).q[0])
            yield measured

    def show(self, moment: Moment) -> None:
        """Take one more moment into charts and tables."""
        self._moments = [*self._moments, moment][-SHOWN:]
        self._draw()

    def _draw(self) -> None:
        with self._lock:
            if not self._moments:
                return
            moments, tracker = self._moments, self._tracker
            t = np.array([m.t for m in moments])
            errors = [_percent(moments, which) for which in ("before", "after")]
            k = tracker.tracked.labels.index(self._chosen.value)
            value, reach = (np.array([getattr(m, f)[k] for m in moments]) for f in ("values", "deviations"))
            reach = 1.96 * reach
            with self._server.atomic():
                self._errors.data = (t, *errors)
                self._estimate.data = (t, value - reach, value + reach, value, np.full_like(t, tracker.start[k]))
                self._state.content = page(_state(tracker, moments[-1], self._title))
                self._table.content = page(_table(tracker, moments[-1]))


def _percent(moments: list[Moment], which: str) -> np.ndarray:
    """Error of all coordinates together over their efforts [%], one for each moment."""
    error, effort = (np.array([getattr(m, k) for m in moments]) for k in (which, "effort"))
    return np.asarray(100 * np.linalg.norm(error, axis=1) / np.maximum(np.linalg.norm(effort, axis=1), 1e-12))


def _state(tracker: Tracker, moment: Moment, title: str) -> str:
    """Time, what is carried, what was refused, the last changes."""
    told = [f"{title}: {moment.t:.1f} s, {tracker.estimator.samples} samples"]
    if tracker.tracked.payload is not None:
        told.append(f"carries {moment.carried:+.3f} kg since the start")
    told += [f"refused, {reason}: {count}" for reason, count in tracker.refused.items()]
    told += [
        f"{c.begin:.2f} s: {'payload' if c.explained else 'unexplained change'}"
        + (f" {c.size:+.3f} ± {c.deviation:.3f} kg" if c.explained else "")
        for c in tracker.changes[-3:]
    ]
    lines = "".join(f"<div>{html.escape(line)}</div>" for line in told)
    return f'<div id="tracked" style="font-size:12px" data-t="{moment.t:.3f}" data-carried="{moment.carried:.4f}">{lines}</div>'


def _table(tracker: Tracker, moment: Moment) -> str:
    """Every parameter: estimate, deviation, and a bar for the share of its axis that is excited."""
    rows = "".join(
        f"<tr><td>{html.escape(short(name))}</td><td style='text-align:right'>{x:.4g}</td>"
        f"<td style='text-align:right'>± {s:.1g}</td><td style='width:70px'><div style='background:#e9ecef'>"
        f"<div style='background:{GOOD};height:8px;width:{100 * share:.0f}%'></div></div></td></tr>"
        for name, x, s, share in zip(
            tracker.tracked.labels, moment.values, moment.deviations, moment.shown, strict=True
        )
    )
    caption = f'<div style="{CAPTION}">Bars: how much of the parameter the motion excites.</div>'
    return f'<div style="{TITLE}">Estimates [SI]</div><table id="estimates" style="{TABLE}">{rows}</table>{caption}'
