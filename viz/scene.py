"""The robot in MeshCat: drawn at a configuration, animated along a motion, exported as one offline page.

URDF visuals ─► drawing commands ─► live page (a server process, only once its address is asked for)
                                └─► offline page (no server)
"""

import os
import webbrowser
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import meshcat
import numpy as np
import pinocchio as pin
from pinocchio.visualize import MeshcatVisualizer
from scipy.spatial.transform import Rotation

from robodyn_pin.errors import ShapeMismatch
from robodyn_pin.files import write_text
from robodyn_pin.robot.robot import Robot
from robodyn_pin.viz.meshcat_page import Animation, Page, animation_track
from robodyn_pin.viz.meshes import drawable
from robodyn_pin.viz.overlays import ColourBar, Playing, legend, player
from robodyn_pin.viz.skeleton import visuals

# MeshCat's camera turns about the page's origin and its lamps hang some 2 m from there, so the view stays where it
# is, and the robot is moved and scaled to fit it.
FIELD_OF_VIEW = 40.0  # vertical [deg]; MeshCat's 75 makes links near the edge look bent
DISTANCE = 3.0  # camera to origin [page units]
VIEW = Rotation.from_euler("ZX", [62, -24], degrees=True).as_matrix()  # columns: right, ahead, up of the camera


class Scene:
    """A robot in MeshCat: drawn at q, animated along a motion, exported as one offline page.

    No server runs until `url` or `open_browser` asks for one; then `close` it, or write `with Scene(...) as scene`.
    What callers draw through `world`, a meshcat.Visualizer, is in the robot's world frame and in metres.
    """

    def __init__(
        self, model: pin.Model, urdf_xml: str, package_dirs: Sequence[str] = (), title: str = "", pale: bool = False
    ):
        """Draw the visual bodies of the URDF that `model` was built from, at the neutral configuration.

        Args:
            pale: light grey bodies, that what is drawn over them stands out.

        Raises:
            BadFile: the URDF has no visual body, or a mesh of it cannot be read.
        """
        self.title = title or model.name
        self.remark = ""  # what is not drawn, one sentence
        self.clock: Playing | None = None  # of the motion, if there is one
        self.marks: Sequence[tuple[str, str]] = ()  # of the legend: CSS colour, meaning
        self.bar: ColourBar | None = None  # of the legend
        self.cell = 0.5  # width of the grid's squares [m]
        self.overlay = ""  # HTML that lies over the picture; of a live page, what it is when its server starts
        self._model, self._data = model, model.createData()
        self._page = Page()
        viewer = meshcat.Visualizer(window=self._page)
        self.world, self._grid = viewer["world"], viewer["/Grid"]
        geometry = visuals(model, urdf_xml, package_dirs)

        # One node per joint that carries a body, so that one track moves all its bodies. A slash would nest nodes.
        self._nodes: dict[int, meshcat.Visualizer] = {}
        self._corners: dict[int, np.ndarray] = {}  # joint -> (4, n), of the boxes around its bodies, joint frame
        loader = MeshcatVisualizer(model, None, geometry)
        loader.initViewer(viewer=viewer)
        for body in geometry.geometryObjects:
            joint = body.parentJoint
            name = model.names[joint].replace("/", "|")
            self._nodes[joint] = self.world[name]
            loader.viewerVisualGroupName = f"world/{name}"
            loader.loadViewerGeometryObject(body, pin.GeometryType.VISUAL, _paled(body.meshColor) if pale else None)
            scale = np.diag([*body.meshScale, 1.0])  # the page gets the mesh file as it is
            self.world[f"{name}/{body.name}"].set_transform(body.placement.homogeneous @ scale)
            body.geometry.computeLocalAABB()
            box = body.geometry.aabb_local
            corners = body.placement.homogeneous @ np.array([*product(*zip(box.min_, box.max_, strict=True), [1.0])]).T
            self._corners[joint] = np.hstack([self._corners.get(joint, np.empty((4, 0))), corners])

        viewer["/Axes"].set_property("visible", False)
        viewer["/Background"].set_property("top_color", [0.94, 0.96, 0.98])
        viewer["/Background"].set_property("bottom_color", [0.78, 0.82, 0.87])
        self._grid["<object>"].set_property("color", [1.0, 1.0, 1.0, 0.25])
        camera = viewer["/Cameras/default/rotated/<object>"]
        camera.set_property("fov", FIELD_OF_VIEW)
        x, y, z = -DISTANCE * VIEW[:, 1]
        camera.set_property("position", [x, z, -y])
        self._animated = False
        self._view: tuple[np.ndarray, float, float] | None = None  # centre, distance of the camera, floor [m]
        self.display(pin.neutral(model))
        self._view = None  # what the caller shows first gets a view of its own

    def display(self, q: np.ndarray) -> None:
        """Draw the robot at q, shape (nv,) [rad] or [m], and end an animation. The view widens if q does not fit."""
        placements = self.placements(np.asarray(q)[None])
        self._place(placements[0])
        self._frame(placements)

    def animate(self, t: np.ndarray, q: np.ndarray, fps: float = 30.0, further: Sequence[dict[str, Any]] = ()) -> None:
        """Play a motion repeatedly. The view contains all of it.

        Args:
            t: Times [s], shape (N,), increasing, N > 1.
            q: Configurations, shape (N, nv) [rad] or [m]; linear between the samples.
            fps: Pictures per second; a picture of a moving joint takes some 50 bytes of the exported page.
            further: clips of what is drawn in `world`, their times from the motion's start to its end.
        """
        t, q = np.asarray(t, dtype=float), np.asarray(q, dtype=float)
        if t.ndim != 1 or len(t) < 2 or len(q) != len(t) or not np.all(np.diff(t) > 0):
            raise ShapeMismatch(f"a motion needs increasing times and a q for each, got t {t.shape} and q {q.shape}")
        times = np.linspace(0.0, t[-1] - t[0], max(2, round((t[-1] - t[0]) * fps) + 1))
        placements = self.placements(np.column_stack([np.interp(times + t[0], t, column) for column in q.T]))
        moved = (clip(node, pose_tracks(times, placements[:, joint])) for joint, node in self._nodes.items())
        clips = [x for x in (*moved, *further) if x["clip"]["tracks"]]
        self._place(placements[0])
        self._frame(placements)
        self._page.send(Animation(clips))
        self._animated, self.clock = True, Playing(float(times[-1]))

    def contain(self, points: np.ndarray) -> None:
        """Let the view contain points (n, 3) of the world as well from now on [m]."""
        low, high = points.min(axis=0), points.max(axis=0)
        corners = np.array([*product(*zip(low, high, strict=True), [1.0])]).T
        self._corners[0] = np.hstack([self._corners.get(0, np.empty((4, 0))), corners])

    @property
    def url(self) -> str:
        """Address of the live page; the first call starts its server."""
        return self._page.serve(self.title, self._over())

    def open_browser(self) -> None:
        """Show the live page in the user's browser."""
        webbrowser.open(self.url)

    def html(self) -> str:
        """Return one page that works without server and offline, for a file or (escaped) for an <iframe srcdoc>."""
        return self._page.html(self.title, self._over())

    def _over(self) -> str:
        parts = [legend(self.marks, self.bar, self.cell)] if self.marks or self.bar else []
        parts += [player(self.clock)] if self.clock else []
        return "".join([*parts, self.overlay])

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write `html()`, completely or not at all.

        Raises:
            BadFile: the folder cannot be written.
        """
        write_text(Path(path), self.html())

    def close(self) -> None:
        """End the server, if one runs. The scene can still be exported."""
        self._page.close()

    def __enter__(self) -> "Scene":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def placements(self, q: np.ndarray) -> np.ndarray:
        """World placements of all joints, shape (N, njoints, 4, 4), for q of shape (N, nv)."""
        if q.ndim != 2 or q.shape[1] != self._model.nq:
            raise ShapeMismatch(f"{self._model.name!r} has {self._model.nq} joints, got q of shape {q.shape}")
        placements = np.empty((len(q), self._model.njoints, 4, 4))
        for k in range(len(q)):
            pin.forwardKinematics(self._model, self._data, q[k])
            placements[k] = [pose.homogeneous for pose in self._data.oMi]
        return placements

    def _place(self, placements: np.ndarray) -> None:
        if self._animated:  # first: a page that ends an animation puts back what it showed before
            self._page.send(Animation([]))
            self._animated, self.clock = False, None
        for joint, node in self._nodes.items():
            node.set_transform(placements[joint])

    def _boxes(self, placements: np.ndarray) -> Iterator[np.ndarray]:
        """Corners (3, n) of each joint's bodies at all these poses, one joint after the other."""
        for joint, corners in self._corners.items():
            yield (placements[:, joint, :3] @ corners).swapaxes(0, 1).reshape(3, -1)

    def _frame(self, placements: np.ndarray) -> None:
        """Move and scale the world so that the camera sees all these poses, and put the grid below them."""
        some = placements[:: 1 + len(placements) // 500]  # of a long motion, lest its corners fill the memory
        if self._view is None:
            ends = np.array([(x.min(axis=1), x.max(axis=1)) for x in (VIEW.T @ box for box in self._boxes(some))])
            centre, distance, floor = VIEW @ (ends[:, 0].min(axis=0) + ends[:, 1].max(axis=0)) / 2, 0.0, np.inf
        else:
            centre, distance, floor = self._view
        needed, lowest = -np.inf, np.inf
        for box in self._boxes(some):
            x, y, z = VIEW.T @ (box - centre[:, None])
            # In view, also on a square page: max(|x|, |z|) <= (distance + y) tan(fov / 2).
            needed = max(needed, np.max(np.maximum(abs(x), abs(z)) / np.tan(np.radians(FIELD_OF_VIEW / 2)) - y))
            lowest = min(lowest, box[2].min())
        if needed <= distance and lowest >= floor:
            return
        distance, floor = max(distance, 1.1 * needed), min(floor, lowest)
        self._view = centre, distance, floor
        scale = DISTANCE / distance
        world = np.diag([scale, scale, scale, 1.0])
        world[:3, 3] = -scale * centre
        self.world.set_transform(world)

        # The floor lies just below the lowest point, so it cuts neither a standing nor a hanging robot.
        # MeshCat's grid has 40 x 40 cells of 0.5: make them 1, 2 or 5 times a power of ten wide.
        decade = 10.0 ** np.floor(np.log10(distance / 20))
        cell = next(step * decade for step in (1, 2, 5, 10) if step * decade >= distance / 20)
        self.cell = float(cell)
        grid = np.diag([cell / 0.5, cell / 0.5, cell / 0.5, 1.0])
        grid[:3, 3] = *(cell * np.round(centre[:2] / cell)), floor - 0.002 * distance
        self._grid.set_transform(world @ grid)


def scene_of_robot(robot: Robot, title: str, pale: bool = False) -> Scene:
    """A scene of a robot without the meshes that are missing; `remark` of the scene names them."""
    found = drawable(robot.urdf_xml, robot.urdf_path.parent)
    scene = Scene(robot.model, found.urdf_xml, title=title, pale=pale)
    scene.remark = found.remark
    return scene


def clip(node: meshcat.Visualizer, tracks: list[dict[str, Any]]) -> dict[str, Any]:
    """The tracks of one node, for `Scene.animate`."""
    return {"path": node.path.lower(), "clip": {"name": "motion", "fps": 1, "tracks": tracks}}


def pose_tracks(times: np.ndarray, pose: np.ndarray) -> list[dict[str, Any]]:
    """Tracks of placements (N, 4, 4) without scale; a constant one needs none."""
    turn = Rotation.from_matrix(pose[:, :3, :3]).as_quat()
    return [
        animation_track(name, kind, times, values)
        for name, kind, values in (("position", "vector3", pose[:, :3, 3]), ("quaternion", "quaternion", turn))
        if np.ptp(values, axis=0).max() > 1e-6
    ]


def _paled(colour: np.ndarray) -> np.ndarray:
    """A light grey that keeps some of the contrast between light and dark bodies."""
    return np.array([*np.full(3, 0.6 + 0.3 * colour[:3] @ [0.3, 0.6, 0.1]), colour[3]])
