"""A panel that moves a robot with sliders: loops are closed live, with limits, distance to singularity and static loads."""

import threading

import numpy as np
import viser

from robodyn_pin.dynamics.equations import Wrench
from robodyn_pin.errors import ClosureFailed, RobodynError
from robodyn_pin.poses.jog import (
    coordinate_choices,
    jogged,
    nearest_limits,
    pose_at,
    position_bounds,
    slider_ranges,
    static_loads,
)
from robodyn_pin.robot.limits import strut_limits
from robodyn_pin.robot.payload import loadable
from robodyn_pin.robot.robot import Robot
from robodyn_pin.viz import panel_text
from robodyn_pin.viz.viser_page import ViserPage

STEPS = 500  # least number of steps of a slider


class Panel(ViserPage):
    """A live page that moves a robot. All open pages show and move the same robot."""

    def __init__(self, robot: Robot, port: int | None = None):
        self._lock = threading.RLock()  # events of several pages arrive in separate threads
        self._choices, self._bounds = coordinate_choices(robot), position_bounds(robot)
        self._pulled = loadable(robot)
        self._strut_limit = next(iter(strut_limits(robot).values()), None)
        self.robot, self.pose = robot, pose_at(robot, robot.home)
        self._at_home, self._reason = self.pose.singularity, ""
        super().__init__(robot, port)

    @property
    def remark(self) -> str:
        """A sentence about what is not drawn; empty if everything is."""
        return self._robot_scene.remark

    def move(self, c: np.ndarray, held: object = None) -> None:
        """Move the robot to coordinates c (d,); if they are out of reach it stays, and the panel says why.

        The sliders follow, except for `held`, which the user is moving.
        """
        with self._lock:
            try:
                self.pose, self._reason = jogged(self.robot, self.pose, c), ""
            except ClosureFailed as error:
                self._reason = str(error)
            self._follow(held)
            self._show()

    def _follow(self, held: object = None) -> None:
        for slider, value in zip(self._sliders, self.pose.c, strict=True):
            if slider is not held:
                slider.value = _rounded(float(value), slider.min, slider.max, slider.step)

    def _build(self, gui: viser.GuiApi) -> None:
        if len(self._choices) > 1:
            choice = gui.add_dropdown(
                "Coordinates", list(self._choices), hint="Joints or motors that the sliders move; all others follow"
            )
            choice.on_update(self._chosen)
        self._folder = gui.add_folder("Move")
        self._add_sliders()
        gui.add_button("Home", icon=viser.Icon.HOME).on_click(lambda _: self._home())
        self._state = gui.add_html("")
        self._wanted = gui.add_checkbox("Show static loads", False)
        self._body = gui.add_dropdown("Apply force to", self._pulled, visible=False)
        self._pull = gui.add_vector3(
            "Force [N]", (0.0, 0.0, 0.0), step=1.0, visible=False, hint="Along the axes of the world"
        )
        self._loads = gui.add_html("", visible=False)
        for handle in (self._wanted, self._body, self._pull):
            handle.on_update(lambda _: self._show_again())
        self._show()

    def _add_sliders(self) -> None:
        self._sliders = []
        axes = self.robot.coordinates
        spans = slider_ranges(self.robot, self._bounds)
        with self._folder:
            for name, value, (low, high), slide in zip(
                axes.names, self.pose.c, spans, self.robot.slides(axes.S), strict=True
            ):
                step = 10.0 ** np.floor(np.log10((high - low) / STEPS))
                marks = tuple((x, f"{x:.2f}" if slide else f"{np.degrees(x):.0f}°") for x in (low, high))
                slider = self._server.gui.add_slider(
                    f"{name} [{'m' if slide else 'rad'}]",
                    low,
                    high,
                    step,
                    _rounded(float(value), low, high, step),
                    marks=marks,
                )
                slider.on_update(self._slid)
                self._sliders.append(slider)

    def _slid(self, event: viser.GuiEvent) -> None:
        with self._lock:
            if event.client is None or event.target not in self._sliders:
                return  # set by this program, or removed
            c = self.pose.c.copy()
            newest = event.target.value  # events that are queued before it then find nothing to do
            c[self._sliders.index(event.target)] = newest
            if np.array_equal(c, self.pose.c) and not self._reason:
                return
            self.move(c, event.target)

    def _chosen(self, event: viser.GuiEvent) -> None:
        if event.client is not None:
            self._change_coordinates(event.target.value)
            event.target.value = ", ".join(self.robot.coordinates.names)  # the old ones, if the new are singular

    def _change_coordinates(self, names: str) -> None:
        """Sliders of other coordinates, without moving the robot."""
        with self._lock:
            robot = self._choices[names]
            try:
                self._at_home = pose_at(robot, robot.home).singularity
                self.pose, self._reason, self.robot = pose_at(robot, self.pose.state.q[0]), "", robot
            except ClosureFailed as error:
                self._reason = str(error)
            else:
                for slider in self._sliders:
                    slider.remove()
                self._add_sliders()
            self._show()

    def _home(self) -> None:
        with self._lock:
            self.pose, self._reason = pose_at(self.robot, self.robot.home), ""
            self._follow()
            self._show()

    def _show_again(self) -> None:
        with self._lock:
            self._show()

    def _show(self) -> None:
        q, near, wanted = self.pose.state.q[0], nearest_limits(self.robot, self._bounds, self.pose), self._wanted.value
        loads, pull, failure = None, (self._body.value, np.array(self._pull.value)), ""
        if wanted:
            try:
                loads = static_loads(self.robot, self.pose, Wrench(pull[0], np.array([*pull[1], 0.0, 0.0, 0.0])))
            except RobodynError as error:  # no torques hold this pose, or bodies have no mass
                failure = panel_text.no_loads(str(error))
        marked = {
            joint.name: panel_text.MARKS[panel_text.colour(joint)]
            for joint in near
            if abs(joint.share) >= panel_text.CLOSE_TO and self.robot.model.existJointName(joint.name)
        }
        with self._server.atomic():
            self._robot_scene.show(q, marked, loads, self._strut_limit, pull if wanted else None)
            self._state.content = panel_text.panel_html(
                panel_text.refusal_html(self._reason),
                panel_text.coordinates_html(self.robot, self.pose),
                panel_text.closed_html(self.pose),
                panel_text.singularity_html(self.robot, self.pose, self._at_home),
                panel_text.limits_html(near),
            )
            for handle in (self._body, self._pull, self._loads):
                handle.visible = wanted
            self._loads.content = panel_text.panel_html(
                panel_text.loads_html(self.robot, loads, self._strut_limit) if loads else failure
            )


def _rounded(value: float, low: float, high: float, step: float) -> float:
    """The nearest value that a slider can show."""
    return float(np.clip(round(value / step) * step, low, high))
