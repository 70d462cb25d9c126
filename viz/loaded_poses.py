"""A robot in MeshCat with straight arrows at points: forces, or enlarged deviations."""

import meshcat.geometry as g
import numpy as np

from robodyn_pin.robot.robot import Robot
from robodyn_pin.viz.arrows import straight_arrow
from robodyn_pin.viz.scene import Scene, scene_of_robot

HOLD = 2.0  # [s] at each pose of a tour
MOVE = 1.0  # [s] between two


def loaded_scene(robot: Robot, q: np.ndarray, title: str, around: np.ndarray) -> Scene:
    """The robot going from pose to pose, q (N, nv); the points `around` (n, 3) [m] stay in view."""
    scene = scene_of_robot(robot, title)
    scene.contain(around)
    scene.display(q[0])
    if len(q) > 1:
        t, stops = [0.0], [q[0]]
        for pose in [*q[1:], q[0]]:
            t += [t[-1] + HOLD, t[-1] + HOLD + MOVE]
            stops += [stops[-1], pose]
        scene.animate(np.array(t), np.array(stops))
    return scene


def draw_arrows(
    scene: Scene, name: str, points: np.ndarray, arrows: np.ndarray, colours: np.ndarray, thick: float
) -> None:
    """Arrows (N, 3) [m] from points (N, 3) [m], each with a colour (N,) 0xRRGGBB; `thick`: radius of the shafts [m]."""
    mesh = straight_arrow()
    for i, (point, arrow, colour) in enumerate(zip(points, arrows, colours, strict=True)):
        length = float(np.linalg.norm(arrow))
        if length < 1e-9:
            continue
        z = arrow / length
        x = np.cross(np.eye(3)[np.abs(z).argmin()], z)
        x /= np.linalg.norm(x)
        pose = np.eye(4)
        pose[:3, :3] = np.column_stack([thick * x, thick * np.cross(z, x), arrow])
        pose[:3, 3] = point
        node = scene.world[f"{name}/{i}"]
        node.set_object(mesh, g.MeshLambertMaterial(color=int(colour)))
        node.set_transform(pose)
