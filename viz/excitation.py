"""Figures of an exciting motion: how much of each limit it uses, and the region that the platform may use."""

from collections.abc import Sequence

import matplotlib
import meshcat.geometry as g
import numpy as np
from matplotlib.figure import Figure

from robodyn_pin.excitation.result import Excitation
from robodyn_pin.excitation.workspace import Hemisphere, Workspace
from robodyn_pin.viz.plots import STYLE, thinned
from robodyn_pin.viz.scene import Scene, scene_of_robot

# Okabe and Ito's colours; dashes tell more lines apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#222222")
DASHES: tuple[Sequence[float] | str, ...] = ("-", "--")
UNITS = {
    "position": ("rad", "m"), "velocity": ("rad/s", "m/s"), "acceleration": ("rad/s²", "m/s²"), "torque": ("N m", "N"),
    "force": ("N", "N"),
}  # fmt: skip
MOST = 12  # lines of one panel: of more axes, those that come closest to their limits
INSIDE = 0xE69F00


@matplotlib.rc_context(STYLE)
def excitation_figure(found: Excitation) -> Figure:
    """Positions, rates, accelerations, torques and strut forces over time, in percent of their limits."""
    kinds = [bounds.kind for bounds in found.limits.bounds]
    figure = Figure(figsize=(9.5, 1.9 * len(kinds) + 0.4))
    figure.subplots_adjust(left=0.07, right=0.77, top=0.96, bottom=0.06, hspace=0.3)
    panels = np.atleast_1d(figure.subplots(len(kinds), 1, sharex=True, sharey=True))
    centre, half = found.limits.scale
    percent = 100 * (found.dense.quantities - centre) / half
    labels, slides = found.limits.labels, _slides(found)
    for panel, kind in zip(panels, kinds, strict=True):
        own = [k for k, (what, _) in enumerate(labels) if what == kind]
        own = sorted(own, key=lambda k: -np.abs(percent[:, k]).max())[:MOST]
        for line, k in enumerate(sorted(own)):
            name = labels[k][1]
            unit = UNITS[kind][name in slides]
            low, high = centre[k] - half[k], centre[k] + half[k]
            panel.plot(
                *thinned(found.dense.t, percent[:, k]), color=COLOURS[line % len(COLOURS)],
                linestyle=DASHES[line // len(COLOURS) % 2], linewidth=0.9, label=f"{name}: {low:.3g} to {high:.3g} {unit}",
            )  # fmt: skip
        for limit in (-100, 100):
            panel.axhline(limit, color="#222222", linewidth=1.2)
        panel.set_title(kind if kind != "force" else "axial strut force")
        panel.set_ylabel("% of limit")
        panel.set_ylim(-110, 110)
        panel.margins(x=0)
        panel.legend(loc="upper left", bbox_to_anchor=(1.005, 1.05), fontsize=6.5, handlelength=1.6, labelspacing=0.25)
    panels[-1].set_xlabel("time [s]")
    return figure


def _slides(found: Excitation) -> set[str]:
    """Names of joints and motors that slide."""
    model, robot = found.robot.model, found.robot
    joints = {name for name, slide in zip(list(model.names)[1:], robot.loops.sliding, strict=True) if slide}
    motors = zip(robot.motors.names, robot.slides(robot.motors.S), strict=True)
    return joints | {name for name, slide in motors if slide}


def workspace_scene(found: Excitation) -> Scene:
    """The robot along the motion, inside the region that all joint limits allow, with the hemisphere in that region."""
    assert found.region is not None
    robot, thin = found.robot, slice(None, None, max(1, round(found.run.rate / 30)))
    scene = scene_of_robot(robot, f"{robot.name}: workspace")
    draw_workspace(scene, found.region)
    radius = found.region.hemisphere.radius
    scene.marks = [
        ("#0073b3", "border of what all joint limits allow"),
        ("#e69f00", f"hemisphere that is used, radius {100 * radius:.3g} cm"),
    ]
    scene.display(found.dense.q[0])
    scene.animate(found.dense.t[thin], found.dense.q[thin])
    return scene


def draw_workspace(scene: Scene, region: Workspace) -> None:
    """Draw the border of the allowed region as points, and the hemisphere as a surface."""
    border = _border(region.allowed)
    points = (region.points[border.ravel()] + region.origin).T
    scene.contain(points.T)
    blue = np.tile(np.array([[0.0], [0.45], [0.70]]), (1, points.shape[1]))
    scene.world["workspace/allowed"].set_object(
        g.Points(g.PointsGeometry(points.astype(np.float32), blue.astype(np.float32)), g.PointsMaterial(size=0.02))
    )
    vertices, faces = _dome(region.hemisphere)
    vertices += region.origin.astype(np.float32)
    material = g.MeshLambertMaterial(color=INSIDE, opacity=0.35, transparent=True, side=2)
    scene.world["workspace/hemisphere"].set_object(g.TriangularMeshGeometry(vertices, faces), material)


def _border(allowed: np.ndarray) -> np.ndarray:
    """Allowed points that have a neighbour which is not allowed."""
    from scipy.ndimage import binary_erosion

    return np.asarray(allowed & ~binary_erosion(allowed))


def _dome(half: Hemisphere, steps: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """Triangles of a hemisphere: vertices (n, 3) [m], faces (m, 3)."""
    turn, rise = np.meshgrid(np.linspace(0, 2 * np.pi, 2 * steps + 1), np.linspace(0, np.pi / 2, steps + 1))
    z = np.sin(rise) * (1 if half.up else -1)
    vertices = half.centre + half.radius * np.stack(
        [np.cos(rise) * np.cos(turn), np.cos(rise) * np.sin(turn), z], -1
    ).reshape(-1, 3)
    wide = 2 * steps + 1
    corner = (np.arange(steps)[:, None] * wide + np.arange(2 * steps)).ravel()
    dome = np.concatenate(
        [np.stack([corner, corner + 1, corner + wide], 1), np.stack([corner + 1, corner + wide + 1, corner + wide], 1)]
    )
    ring = np.arange(2 * steps)
    face = np.stack([np.full(2 * steps, len(vertices)), ring, ring + 1], 1)
    return np.vstack([vertices, half.centre]).astype(np.float32), np.vstack([dome, face]).astype(np.uint32)
