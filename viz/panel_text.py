"""The text beside a jogged robot, as HTML: coordinates, limits, distance to singularity, static loads."""

import html

import numpy as np

from robodyn_pin.poses.jog import LimitDistance, Pose, StaticLoads
from robodyn_pin.robot.limits import torque_limits
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.units import effort_unit
from robodyn_pin.viz.plots import LOADS, STOPS

GOOD, NEAR, OVER = "#2b8a3e", "#d9730d", "#c92a2a"
MARKS = {NEAR: (217, 115, 13), OVER: (201, 42, 42)}  # the same colours for the bodies of the robot
CLOSE_TO = 0.98  # of the way from the middle of a range to its end, from which a limit counts as reached
SINGULAR, CAREFUL = 0.1, 0.35  # of the smallest singular value at home, below which it is red, orange
TABLE = "width:100%;border-collapse:collapse;font-size:12px;line-height:1.5;font-variant-numeric:tabular-nums"
CAPTION = "font-size:11px;color:#667;line-height:1.35;margin:2px 0 0"
TITLE = "font-size:12px;font-weight:600;margin:8px 0 2px"


Colour = tuple[int, int, int]


def load_colour(share: float) -> Colour:
    """Colour of a force over the end of the scale, tension positive."""
    r, g, b = (round(float(np.interp(share, STOPS, channel))) for channel in LOADS.T)
    return r, g, b


def panel_html(*parts: str) -> str:
    """Parts of a panel, one below the other."""
    return f'<div style="padding:0 10px 6px">{"".join(parts)}</div>'


def amount(value: float, sliding: bool) -> str:
    """A position in its SI unit, and in degrees or millimetres."""
    return f"{value:.4f} {'m' if sliding else 'rad'} = {_readable(value, sliding)}"


def coordinates_html(robot: Robot, pose: Pose) -> str:
    """The coordinates of the pose."""
    rows = zip(robot.coordinates.names, pose.c, robot.slides(robot.coordinates.S), strict=True)
    lines = "".join(_row(name, amount(float(value), bool(slide))) for name, value, slide in rows)
    return f'<table style="{TABLE}" data-c="{" ".join(f"{x:.9g}" for x in pose.c)}">{lines}</table>'


def refusal_html(reason: str) -> str:
    """Why the robot does not move; empty without a reason."""
    return (
        f'<div id="refusal" style="background:#fff0f0;border-left:3px solid {OVER};padding:5px 8px;margin:4px 0;font-size:12px">'
        f"<b>The robot cannot move there.</b> {html.escape(reason)}</div>"
        if reason
        else ""
    )


def closed_html(pose: Pose) -> str:
    """The residual of the closed loops."""
    return f'<p style="{CAPTION}">the loops are closed to within <span id="residual">{pose.residual:.1e}</span> (m or rad)</p>'


def singularity_html(robot: Robot, pose: Pose, at_home: float) -> str:
    """How far the pose is from a singular one, compared with home."""
    title = f'<div style="{TITLE}">Distance to singularity</div>'
    if robot.loops.size == 0:
        return title + f'<p style="{CAPTION}">The robot has no loops, so its coordinates always determine its pose.</p>'
    share = pose.singularity / at_home
    colour = OVER if share < SINGULAR else NEAR if share < CAREFUL else GOOD
    return (
        f'{title}<div style="display:flex;align-items:center;gap:8px;font-size:12px">{_bar(min(share, 1.0), colour)}'
        f'<b style="color:{colour}">{pose.singularity:.4f}</b><span style="white-space:nowrap">{share:.0%} of home</span></div>'
        f'<p style="{CAPTION}">Smallest singular value of the loops, without unit. At 0 the robot can move although '
        "these coordinates stand still.</p>"
    )


def limits_html(near: list[LimitDistance]) -> str:
    """Joints and motors at or beyond their limits, else the one nearest to its limit."""
    title = f'<div style="{TITLE}">Joint limits</div>'
    if not near:
        return title + f'<p style="{CAPTION}">The robot file gives none.</p>'
    reached = [joint for joint in near if abs(joint.share) >= CLOSE_TO]
    if not reached:
        nearest = near[0]
        return (
            f'{title}<p style="font-size:12px;margin:0;color:{GOOD}">All joints are within their limits. The nearest is {html.escape(nearest.name)}, '
            f"{abs(nearest.share):.0%} of the way to {_end(nearest)}</p>"
        )
    lines = "".join(
        _row(joint.name, f"{amount(joint.value, joint.sliding)}, {_verdict(joint)} {_end(joint)}", colour(joint))
        for joint in reached
    )
    return f'{title}<table id="reached" style="{TABLE}">{lines}</table>'


def no_loads(reason: str) -> str:
    """Why no torques hold the pose."""
    return f'<p style="{CAPTION};color:{OVER}">{html.escape(reason)}</p>'


def loads_html(robot: Robot, found: StaticLoads, limit: float | None) -> str:
    """Forces and torques that hold the pose at rest."""
    parts = []
    if found.struts is not None:
        struts = found.struts
        head = _head("strut", "upper end [N]", "lower end [N]", "transverse [N]")
        across = np.maximum(struts.upper_across[0], struts.lower_across[0])
        rows = "".join(
            _cells(name, _signed(up), _signed(low), f"{side:.1f}", colour=_over(max(abs(up), abs(low)), limit))
            for name, up, low, side in zip(struts.names, struts.upper[0], struts.lower[0], across, strict=True)
        )
        ends = f"the limit, {limit:g} N" if limit else "the largest force of this pose, since no limit is known"
        parts.append(f'<table id="struts" style="{TABLE}">{head}{rows}</table>{_scale(ends)}')
    else:
        head = _head("closure", "force [N]", "x", "y", "z")
        rows = "".join(
            _cells(name, f"{np.linalg.norm(f):.1f}", *(_signed(x) for x in f))
            for name, (_, f) in found.closures.items()
        )
        parts.append(
            f'<table id="closures" style="{TABLE}">{head}{rows}</table>'
            f'<p style="{CAPTION}">force on the second body of the closure, along the axes of the world</p>'
        )
    limits = [most if np.isfinite(most) else None for most in torque_limits(robot).tolist()]
    torques = "".join(
        _cells(name, f"{_signed(tau, 2)} {effort_unit(robot.model, row)}", _share(tau, most), colour=_over(abs(tau), most))
        for name, tau, row, most in zip(robot.motors.names, found.torques, robot.motors.S, limits, strict=True)
    )  # fmt: skip
    parts.append(
        f'<div style="{TITLE}">Motor torques that hold the pose</div><table id="torques" style="{TABLE}">{torques}</table>'
    )
    if (
        max(np.abs(found.torques).max(initial=0.0), *(np.linalg.norm(f) for _, f in found.closures.values()), 0.0)
        < 1e-6
    ):
        parts.append(
            f'<p style="{CAPTION};color:{NEAR}">No weight acts along the motion of this robot: apply a force to a body to see loads.</p>'
        )
    parts.append(f'<p style="{CAPTION}">At rest and without friction, with the parameters of the robot\'s files.</p>')
    return "".join(parts)


def _row(name: str, text: str, colour: str = "inherit") -> str:
    return (
        f'<tr style="color:{colour}"><td><b>{html.escape(name)}</b></td><td style="text-align:right">{text}</td></tr>'
    )


def _head(*names: str) -> str:
    return (
        "<tr>"
        + "".join(f'<th style="text-align:{"right" if k else "left"};color:#667">{n}</th>' for k, n in enumerate(names))
        + "</tr>"
    )


def _cells(name: str, *values: str, colour: str = "inherit") -> str:
    rest = "".join(f'<td style="text-align:right">{value}</td>' for value in values)
    return f'<tr style="color:{colour}"><td><b>{html.escape(name)}</b></td>{rest}</tr>'


def _signed(value: float, digits: int = 1) -> str:
    """With its sign, unless it rounds to zero."""
    return f"{value:+.{digits}f}" if round(abs(value), digits) else f"{0:.{digits}f}"


def _bar(share: float, colour: str) -> str:
    return (
        '<div style="flex:1;height:9px;background:#dde2e8;border-radius:5px">'
        f'<div style="width:{100 * share:.1f}%;height:9px;background:{colour};border-radius:5px"></div></div>'
    )


def _scale(ends: str) -> str:
    colours = ",".join(f"rgb({r},{g},{b})" for r, g, b in LOADS)
    return (
        f'<div style="height:7px;border-radius:4px;margin-top:4px;background:linear-gradient(to right,{colours})"></div>'
        f'<p style="{CAPTION}">compression (−) to tension (+); the colours end at {ends}</p>'
    )


def _readable(value: float, sliding: bool) -> str:
    return f"{1e3 * value:.1f} mm" if sliding else f"{np.degrees(value):.1f}°"


def _end(joint: LimitDistance) -> str:
    upper = joint.share > 0
    return f"its {'upper' if upper else 'lower'} limit, {_readable(joint.high if upper else joint.low, joint.sliding)}"


def _verdict(joint: LimitDistance) -> str:
    return "beyond" if abs(joint.share) > 1 + 1e-6 else "at"


def colour(joint: LimitDistance) -> str:
    """Colour of a joint that has reached a limit, or is beyond it."""
    return OVER if abs(joint.share) > 1 + 1e-6 else NEAR


def _share(value: float, limit: float | None) -> str:
    return f"{abs(value) / limit:.0%} of {limit:g}" if limit else ""


def _over(size: float, limit: float | None) -> str:
    return OVER if limit is not None and size > limit else "inherit"
