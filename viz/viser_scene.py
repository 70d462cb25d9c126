"""The robot in viser: the bodies of its URDF at given joint positions, and the forces that they carry."""

from itertools import product

import coal
import numpy as np
import pinocchio as pin
import trimesh
import viser

from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.errors import BadFile
from robodyn_pin.poses.jog import StaticLoads
from robodyn_pin.robot.robot import Robot
from robodyn_pin.viz.meshes import drawable
from robodyn_pin.viz.panel_text import Colour, load_colour
from robodyn_pin.viz.scene import FIELD_OF_VIEW, VIEW
from robodyn_pin.viz.skeleton import visuals

ARROW = (178, 10, 24)
LONGEST = 0.25  # arrow, over the robot's size
TINY = 1e-6  # [N] below which a force is round-off


class ViserScene:
    """A robot on a viser server, drawn at q."""

    def __init__(self, server: viser.ViserServer, robot: Robot):
        self._scene, self._server = server.scene, server
        self._model, self._data = robot.model, robot.model.createData()
        self._struts = robot.file.struts
        found = drawable(robot.urdf_xml, robot.urdf_path.parent)
        self.remark = found.remark  # a sentence about what is not drawn
        geometry = visuals(robot.model, found.urdf_xml, [])
        self._joints: dict[int, viser.FrameHandle] = {}
        self._bodies: dict[int, list[viser.MeshHandle]] = {}
        self._paint: dict[str, Colour] = {}  # colours of the URDF, by body
        self._painted: dict[str, Colour] = {}  # colours on the page now
        for body in geometry.geometryObjects:
            joint = body.parentJoint
            path = f"/robot/{self._model.names[joint].replace('/', '|')}"  # a slash would nest nodes
            if joint not in self._joints:
                self._joints[joint] = self._scene.add_frame(path, show_axes=False)
                self._bodies[joint] = []
            self._bodies[joint].append(self._draw(f"{path}/{body.name.replace('/', '|')}", body))
        self._labels: dict[str, viser.LabelHandle] = {}
        self._arrows: viser.ArrowsHandle | None = None
        pin.framesForwardKinematics(self._model, self._data, robot.home)
        self._frame(geometry)
        self.show(robot.home)

    def show(
        self,
        q: np.ndarray,
        marked: dict[str, Colour] | None = None,
        loads: StaticLoads | None = None,
        limit: float | None = None,
        pull: tuple[str, np.ndarray] | None = None,
    ) -> None:
        """Draw the robot at q (nv,).

        Args:
            marked: colours of the bodies behind joints, by joint.
            loads: drawn as colours and values of the struts, or as arrows at the closures of a robot without struts.
            limit: of a strut [N], the end of the colour scale; default: the largest force of this pose.
            pull: a body and the external force (3,) on it [N], axes of the world.
        """
        model, paint = self._model, {}
        pin.framesForwardKinematics(model, self._data, q)
        for joint, node in self._joints.items():
            node.wxyz, node.position = _pose(self._data.oMi[joint])
        for name, colour in (marked or {}).items():
            paint[model.getJointId(name)] = colour
        texts: dict[str, tuple[str, np.ndarray]] = {}
        arrows: list[tuple[np.ndarray, np.ndarray]] = []  # point, force
        if loads is not None and loads.struts is not None:
            worst = loads.struts.worst[0]
            full = limit or float(np.abs(worst).max()) or 1.0
            for k, (name, force) in enumerate(zip(loads.struts.names, worst, strict=True)):
                near, far = (frame_id(model, end) for end in self._struts[name])
                paint[model.frames[far].parentJoint] = load_colour(force / full)
                upper, lower = (self._data.oMf[end].translation for end in (near, far))
                down = 0.42 + 0.16 * (k % 2)  # so that neighbours do not cover each other
                texts[name] = f"{force:+.1f} N", (1 - down) * upper + down * lower
        elif loads is not None:
            for name, (point, force) in loads.closures.items():
                arrows.append((point, force))
                label = f"{name}  {np.linalg.norm(force):.1f} N"
                beside = next(
                    (k for k, (_, at) in texts.items() if np.linalg.norm(at - point) < 0.01 * self._size), name
                )
                texts[beside] = (f"{texts[beside][0]},  {label}" if beside in texts else label), point
        if pull is not None and np.linalg.norm(pull[1]) > 0:
            at = self._data.oMf[frame_id(model, pull[0])].translation
            arrows.append((at, pull[1]))
            texts["pull"] = (
                f"applied force  {np.linalg.norm(pull[1]):.1f} N",
                at + self._length_per_newton(arrows) * pull[1],
            )
        for joint, bodies in self._bodies.items():
            for body in bodies:
                colour = paint.get(joint, self._paint[body.name])
                if colour != self._painted.get(body.name):  # most stay the same, and setting one takes 0.1 ms
                    body.color = self._painted[body.name] = colour
        self._show_labels(texts)
        self._show_arrows(arrows)

    def _length_per_newton(self, arrows: list[tuple[np.ndarray, np.ndarray]]) -> float:
        """Length of an arrow per newton: the largest force has the longest."""
        largest = max((float(np.linalg.norm(force)) for _, force in arrows), default=0.0)
        return LONGEST * self._size / largest if largest > TINY else 0.0

    def _show_labels(self, texts: dict[str, tuple[str, np.ndarray]]) -> None:
        for name in self._labels.keys() - texts.keys():
            self._labels.pop(name).remove()
        for name, (text, at) in texts.items():
            if name not in self._labels:
                path = f"/labels/{name.replace('/', '|')}"
                self._labels[name] = self._scene.add_label(path, text, position=at, anchor="center-center")
            self._labels[name].text, self._labels[name].position = text, at

    def _show_arrows(self, arrows: list[tuple[np.ndarray, np.ndarray]]) -> None:
        if self._arrows is not None:
            self._arrows.remove()
            self._arrows = None
        scale, thick = self._length_per_newton(arrows), 0.012 * self._size
        if scale:
            points = np.array([[point, point + scale * force] for point, force in arrows])
            self._arrows = self._scene.add_arrows(
                "/forces", points, ARROW, shaft_radius=thick / 2, head_radius=1.3 * thick, head_length=3 * thick
            )

    def _draw(self, path: str, body: pin.GeometryObject) -> viser.MeshHandle:
        """Draw a body's shape in its joint's frame."""
        wxyz, position = _pose(body.placement)
        red, green, blue, alpha = (float(x) for x in body.meshColor)
        self._paint[path] = round(255 * red), round(255 * green), round(255 * blue)
        look = {
            "color": self._paint[path], "opacity": None if alpha >= 1 else alpha, "wxyz": wxyz, "position": position,
        }  # fmt: skip
        shape = body.geometry
        match shape:
            case coal.Box():
                return self._scene.add_box(path, dimensions=tuple(2 * shape.halfSide), **look)
            case coal.Sphere():
                return self._scene.add_icosphere(path, radius=shape.radius, **look)
            case coal.Cylinder():
                return self._scene.add_cylinder(path, radius=shape.radius, height=2 * shape.halfLength, **look)
            case coal.Capsule():
                mesh = trimesh.creation.capsule(height=2 * shape.halfLength, radius=shape.radius)
                return self._scene.add_mesh_simple(path, np.asarray(mesh.vertices), np.asarray(mesh.faces), **look)
            case coal.BVHModelBase():
                faces = np.array([[shape.tri_indices(k)[i] for i in range(3)] for k in range(shape.num_tris)])
                return self._scene.add_mesh_simple(path, shape.vertices(), faces, flat_shading=True, **look)
        raise BadFile(
            f"the visual body {body.name!r} is a {type(shape).__name__}; box, sphere, cylinder and mesh are drawn"
        )

    def _frame(self, geometry: pin.GeometryModel) -> None:
        """Place the camera to the front right and above the robot, and a floor below it."""
        corners = []
        for body in geometry.geometryObjects:
            body.geometry.computeLocalAABB()
            box = body.geometry.aabb_local
            place = self._data.oMi[body.parentJoint] * body.placement
            corners += [place.act(np.array(corner)) for corner in product(*zip(box.min_, box.max_, strict=True))]
        points = np.array(corners)
        low, high = points.min(axis=0), points.max(axis=0)
        self._size = float(np.linalg.norm(high - low))
        centre = (low + high) / 2
        camera = self._server.initial_camera
        camera.fov = np.radians(FIELD_OF_VIEW)
        camera.look_at = centre
        camera.position = centre - 1.7 * self._size * VIEW[:, 1]
        cell = 10.0 ** np.floor(np.log10(self._size / 4))
        self._scene.add_grid(
            "/floor", 20 * self._size, 20 * self._size, cell_size=cell, section_size=10 * cell, infinite_grid=True,
            cell_color=(205, 211, 218), section_color=(170, 178, 188), fade_distance=6 * self._size, shadow_opacity=0.2,
            position=(float(centre[0]), float(centre[1]), float(low[2]) - 0.02 * self._size),
        )  # fmt: skip


def _pose(place: pin.SE3) -> tuple[np.ndarray, np.ndarray]:
    """Quaternion w x y z, and position."""
    x, y, z, w = pin.Quaternion(place.rotation).coeffs()
    return np.array([w, x, y, z]), place.translation
