"""A robot whose geometry may be wrong: errors are further joints of its tree, and its loops close for every value of them.

The slopes come from one linear system. With phi(q, e) = 0 and S q + offset = c, the joints follow the errors e by

    [J_q; S] dq/de = [-J_e; dc/de]

(implicit function theorem); what is measured follows joints and errors. An encoder's offset and a gear's error change c, a rod's
length changes phi itself; all others move a frame against the one before it, which is what a joint does. Where drives yield, c are the
coordinates at which springs and loads are in balance (yielding_drives.py).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin

from robodyn_pin.calibration.geometry_errors import GeometryError
from robodyn_pin.calibration.targets import TargetSpec
from robodyn_pin.calibration.yielding_drives import LOAD, Settled, YieldingDrives, compliances, rest_under_load
from robodyn_pin.closures.closing import LONGEST_STEP, close
from robodyn_pin.closures.kinds import Closure
from robodyn_pin.closures.loops import Loops
from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.closures.projection import solve_block
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.robot.axes import joint_index
from robodyn_pin.robot.frames import frame_number
from robodyn_pin.robot.robot import Robot

STEPS = 30
SHORT = 1e-9  # [rad or m] after so short a step the next one would be below round-off
CLOSED = 1e-9  # [m or rad]


@dataclass(frozen=True)
class Predicted:
    """What is measured at N poses, as a geometry predicts it, and how that follows the errors."""

    q: np.ndarray  # (N, joints) closed positions of the tree, without the errors
    places: Mapping[str, np.ndarray]  # (N, 4, 4) of each target that is fixed to a frame, axes of the measurements
    values: Mapping[str, np.ndarray]  # (N, rows) of each target; of a pose its position and zeros
    slopes: Mapping[str, np.ndarray]  # (N, rows, errors); of a pose the rotation about the axes of its own frame


class ErringRobot:
    """A robot, errors of its geometry and the targets on it.

    Args:
        robot: its coordinates are the axes whose positions are known.
        base: the robot's base in the axes of the measurements.
        drives: its springs; default: it is rigid.

    Raises:
        UnknownName: no frame or joint that a target names.
    """

    def __init__(
        self,
        robot: Robot,
        errors: Sequence[GeometryError],
        targets: Mapping[str, TargetSpec],
        base: pin.SE3 | None = None,
        drives: YieldingDrives | None = None,
    ):
        self.robot, self.errors, self.targets = robot, tuple(errors), dict(targets)
        self.base = pin.SE3.Identity() if base is None else base
        self.drives = drives
        self.model = pin.Model()
        self.model.gravity = robot.model.gravity
        self.columns = np.full(len(self.errors), -1)  # of the errors that are joints, in the velocity of the tree
        root = self._chain(0, self.base, ("base",))
        joints = {0: root[0]}
        for j in range(1, robot.model.njoints):
            name, parent = robot.model.names[j], robot.model.parents[j]
            placement = root[1] * robot.model.jointPlacements[j] if parent == 0 else robot.model.jointPlacements[j]
            carrier, placement = self._chain(joints[parent], placement, ("joint", name))
            joints[j] = self.model.addJoint(carrier, robot.model.joints[j], placement, name)
            self.model.appendBodyToJoint(joints[j], robot.model.inertias[j], pin.SE3.Identity())
        self.tree = np.array([self.model.joints[joints[j]].idx_v for j in range(1, robot.model.njoints)])
        self._joints, self._root = joints, root[1]
        closures = [self._closure(c) if isinstance(c, Closure) else c for c in robot.loops.closures]
        self.frames = {name: self._target(name, spec) for name, spec in targets.items() if spec.frame is not None}
        self._read = {
            name: joint_index(robot.model, str(s.joint)) for name, s in targets.items() if s.kind == "encoder"
        }
        self.loops = Loops(self.model, closures)
        self._data = self.model.createData()

    def with_base(self, base: pin.SE3) -> "ErringRobot":
        """The same robot standing elsewhere."""
        return ErringRobot(self.robot, self.errors, self.targets, base, self.drives)

    def rigid(self) -> "ErringRobot":
        """The same robot with drives that do not yield."""
        return ErringRobot(self.robot, self.errors, self.targets, self.base)

    def with_errors(self, errors: Sequence[GeometryError]) -> "ErringRobot":
        """The same robot with other errors."""
        return ErringRobot(self.robot, errors, self.targets, self.base, self.drives)

    def base_with(self, e: np.ndarray) -> pin.SE3:
        """The robot's base in the axes of the measurements with errors e (errors,)."""
        return self.base * self.placement(e, ("base",))

    def targets_with(self, e: np.ndarray) -> dict[str, list[float]]:
        """Where each target lies in its frame with errors e (errors,) [m]."""
        fixed = {name: spec for name, spec in self.targets.items() if spec.frame is not None}
        return {
            name: (np.array(spec.at) + self.placement(e, ("target", name)).translation).tolist()
            for name, spec in fixed.items()
        }

    def placement(self, e: np.ndarray, place: tuple[str, ...]) -> pin.SE3:
        """What the errors e (errors,) of a place do to it, one after the other."""
        found = pin.SE3.Identity()
        for error, value in zip(self.errors, e, strict=True):
            if error.place == place:
                turn = pin.exp3(value * error.direction) if error.turns else np.eye(3)
                found = found * pin.SE3(turn, np.zeros(3) if error.turns else value * error.direction)
        return found

    def _chain(self, carrier: int, placement: pin.SE3, place: tuple[str, ...]) -> tuple[int, pin.SE3]:
        """Add the errors of a place as joints, one after the other; the last one, and what is left to place on it."""
        for k, error in enumerate(self.errors):
            if error.place == place and error.moves_a_frame:
                kind = pin.JointModelRevoluteUnaligned if error.turns else pin.JointModelPrismaticUnaligned
                carrier = self.model.addJoint(carrier, kind(error.direction), placement, f"error {k}")
                self.columns[k] = self.model.joints[carrier].idx_v
                placement = pin.SE3.Identity()
        return carrier, placement

    def _frame(self, name: str, of: str, at: np.ndarray, place: tuple[str, ...]) -> None:
        frame = self.robot.model.frames[frame_number(self.robot.model, of, f"robot {self.robot.name!r}")]
        placement = frame.placement * pin.SE3(np.eye(3), at)
        placement = self._root * placement if frame.parentJoint == 0 else placement
        joint, placement = self._chain(self._joints[frame.parentJoint], placement, place)
        self.model.addFrame(pin.Frame(name, joint, 0, placement, pin.FrameType.OP_FRAME), False)

    def _closure(self, closure: Closure) -> Closure:
        """The closure between frames of its own, which may be displaced."""
        ends = ((closure.frame_a, closure.placement_a), (closure.frame_b, closure.placement_b))
        for side, (frame, placement) in zip("ab", ends, strict=True):
            self._frame(f"{closure.name} {side}", frame, placement.translation, ("end", closure.name, side))
        a, b = (pin.SE3(placement.rotation, np.zeros(3)) for _, placement in ends)
        return Closure(closure.name, closure.kind, f"{closure.name} a", f"{closure.name} b", a, b, closure.length)

    def _target(self, name: str, spec: TargetSpec) -> int:
        self._frame(f"target {name}", str(spec.frame), np.array(spec.at), ("target", name))
        return int(frame_id(self.model, f"target {name}"))

    @cached_property
    def _row_shifts(self) -> np.ndarray:
        """What a unit of each error adds to the rows that close the loops (m, errors): minus one of a rod that is longer."""
        shifts = np.zeros((self.loops.size, len(self.errors)))
        for k, error in enumerate(self.errors):
            if error.place[0] == "length":
                shifts[self.loops.row_owner.index(error.place[1]), k] = -1
        return shifts

    def coordinates(self, e: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """True coordinates (N, d) where c (N, d) are read, c (1 + gear) + offset, and their slopes (N, d, errors)."""
        true, slopes = c.copy(), np.zeros((*c.shape, len(self.errors)))
        for k, error in enumerate(self.errors):
            if error.place[0] in ("offset", "gear"):
                axis = self.robot.coordinates.names.index(error.place[1])
                slopes[:, axis, k] = 1.0 if error.place[0] == "offset" else c[:, axis]
                true[:, axis] += e[k] * slopes[:, axis, k]
        return true, slopes

    def nominal(self, c: np.ndarray, label: Callable[[int], str] = lambda i: f"pose {i + 1}") -> np.ndarray:
        """Closed positions (N, joints) of the drawn robot at c (N, d); raises ClosureFailed where a pose is out of reach."""
        r = self.robot
        return close(r.loops, r.coordinates.S, r.coordinates.offset, c, r.home, label)

    def whole(self, e: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Positions of the tree with errors (N, nv)."""
        whole = np.zeros((len(q), self.model.nv))
        whole[:, self.tree] = q
        moved = self.columns >= 0
        whole[:, self.columns[moved]] = e[moved]
        return whole

    def closed(
        self, e: np.ndarray, x: np.ndarray, start: np.ndarray, label: Callable[[int], str] = lambda i: f"pose {i + 1}"
    ) -> np.ndarray:
        """Joint positions (N, joints) with errors e (k,) at true coordinates x (N, d), by Newton from `start`.

        Raises:
            ClosureFailed: the loops do not close with these errors; names the pose.
        """
        S, offset = self.robot.coordinates.S, self.robot.coordinates.offset
        if not self.loops.size:
            return np.linalg.solve(S, (x - offset).T).T
        q, shift = start.copy(), self._row_shifts @ e
        for _ in range(STEPS):
            at = self.loops.at(self.whole(e, q))
            missing = at.residual() + shift
            away = x - offset - q @ S.T
            J = at.jacobian()[:, :, self.tree]
            step = solve_block(self.robot.loops, J, S, -missing[..., None], away[..., None])[..., 0]
            longest = np.abs(step).max(axis=1, keepdims=True)
            q += step * np.minimum(1.0, LONGEST_STEP / np.maximum(longest, 1e-300))
            if longest.max() <= SHORT:
                break
        gap = np.abs(self.loops.at(self.whole(e, q)).residual() + shift)
        gap[~np.isfinite(gap)] = np.inf
        if gap.max() > CLOSED:
            i, row = divmod(int(gap.argmax()), gap.shape[1])
            owner, value = self.loops.row_owner[row], float(gap[i, row])
            raise ClosureFailed(
                f"closure {owner!r} does not close at {label(i)} with errors of the geometry: residual {value:.3g}; leave out "
                "errors that the loops do not allow, or poses near a singular one",
                i, owner, value,
            )  # fmt: skip
        return q

    def joint_slopes(self, e: np.ndarray, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """dq/de (N, joints, errors) at closed positions q (N, joints), true coordinates following the errors as `rates` (N, d, errors)."""
        if not self.loops.size:
            return np.asarray(np.linalg.inv(self.robot.coordinates.S) @ rates)
        J = self.loops.at(self.whole(e, q)).jacobian()
        right = np.broadcast_to(-self._row_shifts, (len(q), *self._row_shifts.shape)).copy()
        moved = self.columns >= 0
        right[:, :, moved] -= J[:, :, self.columns[moved]]
        return solve_block(self.robot.loops, J[:, :, self.tree], self.robot.coordinates.S, right, rates)

    def tangents(self, e: np.ndarray, q: np.ndarray) -> np.ndarray:
        """How the joints follow the coordinates (N, joints, d) at closed positions q (N, joints)."""
        S = self.robot.coordinates.S
        rates = np.broadcast_to(np.eye(len(S)), (len(q), len(S), len(S)))
        if not self.loops.size:
            return np.asarray(np.linalg.inv(S) @ rates)
        J = self.loops.at(self.whole(e, q)).jacobian()[:, :, self.tree]
        return solve_block(self.robot.loops, J, S, None, rates)

    def contradictions(self, e: np.ndarray, c: np.ndarray, q: np.ndarray) -> np.ndarray:
        """By how much a unit of each error would open loops that hold more than they need (errors,); zero in all others."""
        if not self.loops.size:
            return np.zeros(len(self.errors))
        slopes = self.joint_slopes(e, q, self.coordinates(e, c)[1])
        J = self.loops.at(self.whole(e, q)).jacobian()
        moved = self.columns >= 0
        left = J[:, :, self.tree] @ slopes + self._row_shifts
        left[:, :, moved] += J[:, :, self.columns[moved]]
        return np.asarray(np.abs(left).max(axis=(0, 1)))

    @cached_property
    def _unloaded(self) -> tuple["ErringRobot", np.ndarray]:
        """The robot that drives carry, its base at zero, with the errors that turn a load's lever arm; which of all they are."""
        bent = np.array([error.place[0] in ("joint", "end", "length") for error in self.errors], bool)
        own, drives = [error for error in self.errors if error.place[0] in ("joint", "end", "length")], self.drives
        assert drives is not None
        target = TargetSpec(kind="pose", frame=drives.frame, at=drives.at)
        return ErringRobot(self.robot, own, {LOAD: target}), np.flatnonzero(bent)

    def settled(
        self, e: np.ndarray, c: np.ndarray, start: np.ndarray, wrench: np.ndarray | None = None, slopes: bool = True
    ) -> tuple[Settled, np.ndarray]:
        """Where drives that yield come to rest, and how their coordinates follow the errors (N, d, errors); arguments as `predict`.

        Without `slopes` these are zeros.

        Raises:
            ClosureFailed, RobodynError: as `rest_under_load`.
        """
        assert self.drives is not None
        inner, bent = self._unloaded
        true, rates = self.coordinates(e, c)
        load = np.zeros((len(c), 6)) if wrench is None else wrench
        compliance = compliances(self.drives, self.robot.coordinates.names, [x.place for x in self.errors], e)
        found = rest_under_load(inner, self.drives, e[bent], true, compliance, load, start, slopes)
        if found.pushed is None:
            return found, np.zeros_like(rates)
        rates[:, :, bent] += compliance[:, None] * found.pushed.by_e
        for k, error in enumerate(self.errors):
            if error.place[0] == "drive":
                axis = self.robot.coordinates.names.index(error.place[1])
                rates[:, axis, k] -= compliance[axis] * found.pushed.tau[:, axis]
        held = np.eye(c.shape[1]) - compliance[:, None] * found.pushed.by_x
        return found, np.linalg.solve(held, rates)

    def predict(
        self, e: np.ndarray, c: np.ndarray, start: np.ndarray, slopes: bool = True, wrench: np.ndarray | None = None
    ) -> Predicted:
        """What is measured at coordinates c (N, d) with errors e (k,); `start` (N, joints) is near the closed positions.

        Args:
            wrench: force and moment (N, 6) on a robot with drives that yield [N, N m], axes of its base; default: none.

        Raises:
            ClosureFailed: as `closed`. RobodynError: the drives do not hold the load.
        """
        if self.drives is None:
            x, rates = self.coordinates(e, c)
        else:
            rest, rates = self.settled(e, c, start, wrench, slopes)
            x, start = rest.x, rest.q
        q = self.closed(e, x, start)
        X = self.joint_slopes(e, q, rates) if slopes else np.zeros((len(q), len(self.tree), len(self.errors)))
        places, twists = self._placed(self.whole(e, q), X)
        values, found = {}, {}
        for name, spec in self.targets.items():
            if spec.kind == "encoder":
                k = self._read[name]
                values[name], found[name] = q[:, k, None].copy(), X[:, k, None, :].copy()
            else:
                values[name], found[name] = self._seen(name, spec, e, places[name], twists[name])
            for k, error in enumerate(self.errors):
                if error.place == ("encoder", name):
                    values[name] += e[k]
                    found[name][:, :, k] += 1
        return Predicted(q, places, values, found)

    def _placed(self, whole: np.ndarray, X: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Place (N, 4, 4) of each target, and its velocity along and angular velocity about the axes of the measurements (N, 6, errors)."""
        model, data, axes = self.model, self._data, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        places = {name: np.empty((len(whole), 4, 4)) for name in self.frames}
        J = {name: np.empty((len(whole), 6, model.nv)) for name in self.frames}
        for i, sample in enumerate(whole):
            pin.computeJointJacobians(model, data, sample)
            for name, number in self.frames.items():
                places[name][i] = pin.updateFramePlacement(model, data, number).homogeneous
                J[name][i] = pin.getFrameJacobian(model, data, number, axes).reshape(6, -1)
        moved, twists = self.columns >= 0, {}
        for name in self.frames:
            twists[name] = J[name][:, :, self.tree] @ X
            twists[name][:, :, moved] += J[name][:, :, self.columns[moved]]
        return places, twists

    def _seen(
        self, name: str, spec: TargetSpec, e: np.ndarray, place: np.ndarray, twist: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values (N, rows) and slopes (N, rows, errors) of a target on a frame."""
        point, velocity = place[:, :3, 3].copy(), twist[:, :3].copy()
        own = {k: x for k, x in enumerate(self.errors) if x.place[0] in ("plane", "centre") and x.place[1] == name}
        if spec.kind == "pose":
            turning = np.swapaxes(place[:, :3, :3], 1, 2) @ twist[:, 3:]
            return np.concatenate([point, np.zeros_like(point)], axis=1), np.concatenate([velocity, turning], axis=1)
        if spec.kind == "plane":
            drawn = np.array(spec.normal) / np.linalg.norm(spec.normal)
            tilts = {k: np.cross(x.direction, drawn) for k, x in own.items() if x.turns}
            normal = drawn + sum(e[k] * tilt for k, tilt in tilts.items())
            height, slopes = point @ normal, normal @ velocity
            for k, x in own.items():
                slopes[:, k] += point @ tilts[k] if x.turns else -1.0
                height -= 0.0 if x.turns else e[k]
            return height[:, None], slopes[:, None]
        if spec.kind == "distance":
            for k, x in own.items():
                point -= e[k] * x.direction
                velocity[:, :, k] -= x.direction
            apart = point - np.array(spec.to)
            far = np.linalg.norm(apart, axis=1, keepdims=True)
            return far, np.einsum("ni,nik->nk", apart / far, velocity)[:, None]
        return point, velocity
