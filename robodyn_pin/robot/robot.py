"""A robot: a tree in Pinocchio, the loops that close it, its motors and its independent coordinates."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.closing import close
from robodyn_pin.closures.kernel_choice import forced
from robodyn_pin.closures.kinds import KINDS, Closure, Coupling, turned_onto
from robodyn_pin.closures.loops import Loops
from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.closures.projection import project
from robodyn_pin.closures.singularity import smallest_singular_values
from robodyn_pin.errors import BadFile, ShapeMismatch
from robodyn_pin.files import resolve
from robodyn_pin.robot.axes import Axes, joint_index, resolve_axes
from robodyn_pin.robot.bearing import Bearing, bearing_of
from robodyn_pin.robot.bearing_axes import check_bearing, check_carriers
from robodyn_pin.robot.effort_patterns import each_of
from robodyn_pin.robot.efforts import Effort, Stack, resolve_effort, stacks
from robodyn_pin.robot.frames import name_frames
from robodyn_pin.robot.friction_models import WarmthSpec
from robodyn_pin.robot.identical_bodies import check_identical
from robodyn_pin.robot.mobility import check_mobility, close_home, rank
from robodyn_pin.robot.reading import describe
from robodyn_pin.robot.references import check_ends, check_names
from robodyn_pin.robot.robot_file import CouplingSpec, FrameClosureSpec, RobotFile
from robodyn_pin.robot.sources import DESCRIPTIONS, find
from robodyn_pin.robot.tools import equipped
from robodyn_pin.robot.urdf_joints import coupled, rubbing, split
from robodyn_pin.robot.urdf_tree import body_joints, body_name, parse_urdf

PART = 5000  # samples of a long motion that are closed at once


@dataclass(frozen=True)
class State:
    """N samples of the tree's motion on the loops, and the projection onto the coordinates."""

    q: np.ndarray  # (N, nv) [rad or m]
    v: np.ndarray  # (N, nv)
    a: np.ndarray  # (N, nv)
    T: np.ndarray  # (N, nv, d): v = T c'
    g: np.ndarray  # (N, nv): a = T c'' + g
    stops: Mapping[bytes, np.ndarray] | None = None  # y (N, r, k) of friction with memory; None: not known
    loads: Mapping[bytes, np.ndarray] | None = (
        None  # |load| (N, axes) of friction with load [N m or N]; None: not known
    )
    warmth: Mapping[WarmthSpec, np.ndarray] | None = None  # (N,) that efforts grow with; None: warm, at their reference

    def __getitem__(self, samples: slice) -> "State":
        """Return some of the samples."""
        kept = {name: getattr(self, name) for name in ("stops", "loads", "warmth")}
        some = {name: {key: x[samples] for key, x in of.items()} if of else of for name, of in kept.items()}
        q, v, a, T, g = (x[samples] for x in (self.q, self.v, self.a, self.T, self.g))
        return State(q, v, a, T, g, **some)

    def accelerated(self, cdd: np.ndarray) -> "State":
        """Return the same positions and rates with other accelerations c'' (N, d)."""
        return replace(self, a=(self.T @ cdd[..., None])[..., 0] + self.g, loads=None)

    def along(self, S: np.ndarray) -> "State":
        """Return the same motion projected onto other coordinates, rows S (d, nv); they must determine every sample."""
        T = self.T @ np.linalg.inv(S @ self.T)
        return replace(self, T=T, g=self.a - np.einsum("nij,jk,nk->ni", T, S, self.a))


@dataclass(frozen=True)
class Payload:
    """An unknown body that the robot carries in some logs only."""

    name: str
    link: str  # or frame, that it is fixed to
    body: str  # link of the joint that moves it
    joint: int  # that joint
    placement: pin.SE3  # of the link in the joint's frame; the payload's parameters count in the link's frame


@dataclass(frozen=True, repr=False)
class Robot:
    """A loaded robot. `model` is Pinocchio's model of the spanning tree, nq = nv."""

    name: str
    file: RobotFile
    model: pin.Model
    urdf_xml: str
    urdf_path: Path
    loops: Loops
    motors: Axes
    coordinates: Axes
    efforts: tuple[Effort, ...]
    home: np.ndarray  # (nv,) closed
    payload: Payload | None = None
    borne: tuple[float, ...] | None = (
        None  # parameters of its body groups by which friction's loads count; None: its files'
    )
    unused: tuple[str, ...] = ()  # what the URDF says and nothing here reads

    def __repr__(self) -> str:
        motors, free = len(self.motors.names), len(self.coordinates.names)
        return f"Robot({self.name}: {self.model.nv} joints, {len(self.file.closures)} closures, {motors} motors, {free} degrees of freedom)"

    def _repr_html_(self) -> str:
        from robodyn_pin.robot.in_notebooks import tree_html

        driven = {self.model.names[1 + int(k)] for k in np.flatnonzero(np.abs(self.motors.S).max(axis=0))}
        loops = [
            (one.name, one.kind, list(one.of) if isinstance(one, CouplingSpec) else one.between)
            for one in self.file.closures
        ]
        return tree_html(repr(self), self.model, driven, loops)

    def close(
        self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray, start: np.ndarray | None = None,
        label: Callable[[int], str] = lambda i: f"sample {i}",
    ) -> State:  # fmt: skip
        """Return positions, velocities and accelerations of all joints for coordinates c, c', c'' (N, d).

        Args:
            start: closed joint positions (nv,) that pick the assembly mode; default home.
            label: what to call sample i in an error.

        Raises:
            ShapeMismatch: not (N, d), or not finite.
            ClosureFailed: a state out of reach, or singular.
        """
        c, cd, cdd = self._samples(c=c, cd=cd, cdd=cdd)
        if start is not None and np.shape(start) != (self.model.nv,):
            raise ShapeMismatch(
                f"start has shape {np.shape(start)}, expected ({self.model.nv},): one position for each joint"
            )
        S, offset = self.coordinates.S, self.coordinates.offset
        return self.state(close(self.loops, S, offset, c, self.home if start is None else start, label), cd, cdd)

    def state(self, q: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> State:
        """Return the motion of all joints at closed positions q (N, nv), with rates c', c'' (N, d) of the coordinates."""
        projection, v = project(self.loops, self.coordinates.S, q, cd)
        a = np.einsum("nij,nj->ni", projection.T, cdd) + projection.g
        return State(q, v, a, projection.T, projection.g)

    def at_rest(self, c: np.ndarray) -> State:
        """Return the state of the robot standing still at coordinates c (N, d); raises as `close`."""
        return self.close(c, np.zeros_like(c), np.zeros_like(c))

    def close_parts(
        self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray, label: Callable[[int], str]
    ) -> Iterator[tuple[slice, State]]:
        """As `close`, of a long motion in parts, each begun where the last one ended: which samples, and their states."""
        start = None
        for begin in range(0, len(c), PART):
            part = slice(begin, begin + PART)
            state = self.close(c[part], cd[part], cdd[part], start, partial(_later, label, begin))
            start = state.q[-1]
            yield part, state

    def slides(self, S: np.ndarray) -> np.ndarray:
        """Return which of the axes S (k, nv) move nothing but sliding joints, so that they are in metres and newtons: (k,)."""
        return np.array([self.loops.sliding[row != 0].all() for row in S], bool)

    def with_coordinates(self, names: Sequence[str]) -> "Robot":
        """Return the same robot with other independent joints or motors.

        Raises:
            UnknownName: no such joint or motor.
            WrongMobility: they do not determine the mechanism.
        """
        coordinates = resolve_axes(self.model, names, self.motors)
        check_mobility(self.name, self.model, self.loops, coordinates, self.home)
        return replace(self, coordinates=coordinates)

    def separated(self, separate: bool = True) -> "Robot":
        """Return the same robot with parameters of their own for identical bodies, or (False) with one set for all.

        Raises:
            BadFile: its file names no identical bodies.
        """
        if separate and not self.file.identical:
            raise BadFile(
                f"robot {self.name!r} has no identical bodies to estimate separately; name them under 'identical' in its file"
            )
        return replace(self, file=self.file.model_copy(update={"separate": separate}))

    def singularity(self, c: np.ndarray) -> np.ndarray:
        """Return how far the coordinates c (N, d) are from a singular state: smallest singular value (N,) of [J; S], no units.

        Scaled by one length of the robot, the root mean square L of the metres per radian in J at home: prismatic
        columns are multiplied by L, linear rows divided by L, coordinate and coupling rows divided by their largest
        entry. Zero where the coordinates stop determining the mechanism; linear in the joints' distance from there.

        Raises:
            ShapeMismatch: not (N, d), or not finite.
            ClosureFailed: a state out of reach.
        """
        (c,) = self._samples(c=c)
        S = self.coordinates.S
        q = close(self.loops, S, self.coordinates.offset, c, self.home, lambda i: f"sample {i}")
        return smallest_singular_values(self.loops, S, q, self.home)

    def _samples(self, **arrays: np.ndarray) -> list[np.ndarray]:
        """Check arrays over samples of the coordinates and return them: all (N, d), finite."""
        d, n, checked = len(self.coordinates.names), None, []
        for name, x in arrays.items():
            x = np.asarray(x, float)
            n = len(x) if n is None and x.ndim == 2 else n
            if x.ndim != 2 or x.shape != (n, d):
                rows = "N" if n is None else n
                raise ShapeMismatch(
                    f"{name} has shape {x.shape}, expected ({rows}, {d}): one row for each sample, one column for "
                    f"each of the coordinates {', '.join(self.coordinates.names)}"
                )
            if not np.isfinite(x).all():
                i, k = np.argwhere(~np.isfinite(x))[0]
                raise ShapeMismatch(
                    f"{name} is {x[i, k]} at sample {i}, coordinate {self.coordinates.names[k]}; it must be finite"
                )
            checked.append(x)
        return checked

    @cached_property
    def bodies(self) -> tuple[str, ...]:
        """Return the links with inertia, in the order of the tree, then the payload."""
        own = tuple(body_name(self.model, j) for j in body_joints(self.model))
        return (*own, self.payload.name) if self.payload else own

    @cached_property
    def body_groups(self) -> tuple[tuple[str, ...], ...]:
        """Return bodies that share one parameter set, alone or as `identical` says, in the order of the tree."""
        groups = [] if self.file.separate else [tuple(g) for g in self.file.identical]
        shared = {name: g for g in groups for name in g}
        return tuple(dict.fromkeys(shared.get(name, (name,)) for name in self.bodies))

    @cached_property
    def body_columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the joint of each body, and the first of its ten regressor columns, one ten for identical bodies."""
        place = {name: 10 * k for k, group in enumerate(self.body_groups) for name in group}
        joints = [*body_joints(self.model), *([self.payload.joint] if self.payload else [])]
        return np.array(joints, np.int64), np.array([place[name] for name in self.bodies], np.int64)

    @property
    def payload_columns(self) -> slice:
        """Return the columns of the regressor that are zero while the robot carries nothing; none without payload."""
        end = 10 * len(self.body_groups)
        return slice(end - 10 if self.payload else end, end)

    @cached_property
    def effort_stacks(self) -> tuple[tuple[Stack, ...], tuple[Effort, ...]]:
        """Return efforts on joints and motors, those of one model together, and those in closures, with memory or load."""
        found, others = stacks(self.efforts)
        return found, tuple(self.efforts[i] for i in others)

    @cached_property
    def bearings(self) -> Mapping[str, Bearing]:
        """Return the joints in whose bearings friction grows with the force along the axis, each with a tree that can give way there."""
        named = [name for e in self.efforts if e.spec.bearing is not None for name in e.carriers]
        return {name: bearing_of(self.model, self.loops.closures, name) for name in named}

    @property
    def redundancy(self) -> int:
        """Return how many closure equations say nothing new at home."""
        return self.loops.size - rank(self.loops.at(self.home[None]).jacobian()[0])


def _later(label: Callable[[int], str], begin: int, i: int) -> str:
    return label(begin + i)


def load(source: str | Path) -> Robot:
    """Load a robot by catalogue name, by path to its YAML, URDF, MJCF (.xml) or result folder.

    Raises:
        BadFile, UnknownName: the files do not exist or contradict themselves.
        ClosureFailed: the loops do not close from the home pose.
        WrongMobility: the coordinates do not determine the mechanism.
    """
    path = find(source)
    robot = build(path.stem, *describe(path))
    check_identical(robot.model, robot.body_groups, f"robot {robot.name!r}")
    return robot


def load_named(robot: str, folder: Path) -> Robot:
    """Load a robot of the catalogue, or one in a file whose path starts from `folder`."""
    is_path = Path(robot).suffix in DESCRIPTIONS
    return load(resolve(folder, robot) if is_path else robot)


@forced("pinocchio")  # single poses, for which compiling a kernel is not worth the wait
def build(name: str, file: RobotFile, urdf: str, urdf_path: Path) -> Robot:
    """Build a robot from what its files say; `urdf` is the text of the URDF, raises as `load`."""
    where = f"robot {name!r}"
    urdf, sayings = split(urdf, urdf_path)
    carriers = [tool.link for tool in file.tools.values() if not tool.unknown]
    file, urdf = equipped(file, urdf, where)
    model, xml = parse_urdf(urdf, urdf_path)
    for link in carriers:
        if (joint := model.frames[frame_id(model, link)].parentJoint) > 0:
            file = file.apart(body_name(model, joint))
    model.gravity.linear = np.array(file.gravity)
    name_frames(model, file.frames, where)
    joints = list(model.names)[1:]
    file, kept = coupled(file, sayings, joints)
    motor_specs = joints if file.motors is None else file.motors
    motors = resolve_axes(model, motor_specs, None)
    loops = Loops(model, [closure_of(spec) for spec in file.closures])
    check_ends(model, file, where)
    q0 = np.zeros(model.nv)
    for joint, value in file.home.items():
        q0[joint_index(model, joint)] = value
    coordinates = motors if file.coordinates is None else resolve_axes(model, file.coordinates, motors)
    home = close_home(name, loops, coordinates, q0)
    check_mobility(name, model, loops, coordinates, home)
    file = file.model_copy(update={"efforts": each_of(file.efforts, joints, motors.names, where)})
    named = [resolve_effort(spec, model, motors, loops, where) for spec in file.efforts]
    for effort in named:
        check_bearing(effort, motors, len(coordinates.names), loops, where)
    losses, silenced = rubbing(model, named, sayings)
    efforts = (*named, *(resolve_effort(spec, model, motors, loops, where) for spec in losses))
    file = file.model_copy(update={"efforts": [*file.efforts, *losses]})
    check_names(model, motors, file, where)
    unused = (*sayings.unused, *kept, *silenced)
    robot = Robot(name, file, model, xml, urdf_path, loops, motors, coordinates, efforts, home, unused=unused)
    for effort in efforts:
        if effort.carriers:
            check_carriers(effort, file.struts, motors, len(coordinates.names), robot.redundancy, where)
    return robot


def closure_of(spec: FrameClosureSpec | CouplingSpec) -> Closure | Coupling:
    """Return a closure as its entry in a robot file describes it."""
    if isinstance(spec, CouplingSpec):
        return Coupling(spec.name, spec.of, spec.offset)
    in_a, in_b = (pin.SE3(np.eye(3), np.array(point, float)) for point in spec.at)
    if onto := KINDS[spec.kind].onto:
        in_a, in_b = in_a * turned_onto(onto[0], spec.directions[0]), in_b * turned_onto(onto[1], spec.directions[1])
    a, b = spec.between
    return Closure(spec.name, spec.kind, a, b, in_a, in_b, spec.length or 0.0)
