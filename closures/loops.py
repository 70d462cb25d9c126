"""All loops of a robot together: phi(q) = 0, its Jacobian J and its drift, for a batch of samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.batch import Batch, Placed
from robodyn_pin.closures.elimination import EliminationPlan, elimination_plan, unreduced
from robodyn_pin.closures.kernel_tables import LoopTable, Tree, chains, loop_table, tree_table
from robodyn_pin.closures.kinds import KINDS, Anchors, Closure, Coupling, equations
from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.errors import RobodynError, UnknownName


@dataclass(frozen=True)
class LoopRows:
    """The closure equations at N samples; m rows."""

    phi: np.ndarray  # (N, m) residual [m or rad]
    J: np.ndarray  # (N, m, nv); J v is the rate of phi on the manifold
    drift: np.ndarray  # (N, m); J a + drift = 0 on the manifold


class Loops:
    """The closures of a model and Pinocchio's anchors for them."""

    def __init__(self, model: pin.Model, closures: Sequence[Closure | Coupling]):
        self.model, self.closures = model, tuple(closures)
        self.row_names = [f"{c.name}.{row}" for c in closures for row in KINDS[c.kind].rows]
        self.row_owner = [c.name for c in closures for _ in KINDS[c.kind].rows]
        self.data = model.createData()  # anyone's workspace
        self._framed = [c for c in closures if isinstance(c, Closure)]
        self._full = [KINDS[c.kind].turns > 0 for c in self._framed]  # needs the rotation of b in a
        self._ends = np.cumsum([0, *(6 if full else 3 for full in self._full)]).tolist()
        self._models, self._datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
        for closure in self._framed:
            self._models.append(pin.ConstraintModel(self._anchor(closure)))
            self._datas.append(self._models[-1].createData())
        self._live = [d.extract() for d in self._datas]  # references: filled anew by every calc
        self._calc = [(anchor.calc, data) for anchor, data in zip(self._models, self._datas, strict=True)]
        self._couplings = {c.name: self._coupling_row(c) for c in closures if isinstance(c, Coupling)}
        # What a shaft's turn does to the joints, by shaft and start: whoever closes the loops keeps it here.
        self.turns: dict[tuple[int, bytes, bytes, bytes], np.ndarray | None] = {}
        self._plans: dict[bytes, EliminationPlan | None] = {}
        self._compiled: dict[bytes | None, tuple[Tree, LoopTable] | None] = {}

    def __reduce__(self) -> tuple[type["Loops"], tuple[object, ...]]:  # Pinocchio's constraint models cannot be pickled
        return Loops, (self.model, self.closures)

    @property
    def size(self) -> int:
        """Number of equations."""
        return len(self.row_names)

    @property
    def chunk(self) -> int:
        """Samples to work on together: many share NumPy's calls, but their Jacobians stay in the processor's cache."""
        return max(64, 160_000 // max(1, self.size * self.model.nv))

    @cached_property
    def sliding(self) -> np.ndarray:
        """Which joints are prismatic, (nv,)."""
        return np.array(["JointModelP" in joint.shortname() for joint in list(self.model.joints)[1:]], bool)

    def _anchor(self, closure: Closure) -> object:
        a, b = (self._frame(name) for name in (closure.frame_a, closure.frame_b))
        anchor = pin.FrameAnchorConstraintModel if KINDS[closure.kind].turns else pin.PointAnchorConstraintModel
        placement_a, placement_b = a.placement * closure.placement_a, b.placement * closure.placement_b
        return anchor(self.model, a.parentJoint, placement_a, b.parentJoint, placement_b)

    def _frame(self, name: str) -> pin.Frame:
        if not self.model.existFrame(name):
            raise UnknownName("frame", name, self.model.name, [f.name for f in self.model.frames])
        return self.model.frames[frame_id(self.model, name)]

    def evaluate(self, q: np.ndarray, v: np.ndarray | None = None) -> LoopRows:
        """Residual, Jacobian and drift at q (N, nv) and v (N, nv); without v the drift is that of rest, zero."""
        v = np.zeros_like(q) if v is None else v
        if kernel_choice.chosen(len(q)) and (compiled := self.compiled()):
            (n, nv), m = q.shape, self.size
            rows = LoopRows(np.empty((n, m)), np.zeros((n, m, nv)), np.empty((n, m)))
            kernel_choice.kernel("robodyn_pin.closures.kernel").evaluate(
                *compiled, *kernel_choice.ready(q, v), rows.phi, rows.J, rows.drift
            )
            return rows
        at = self.at(q)
        return LoopRows(at.residual(), at.jacobian(), at.drift(v))

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """J (N, m, nv) alone."""
        return self.evaluate(q).J if kernel_choice.chosen(len(q)) and self.compiled() else self.at(q).jacobian()

    def at(self, q: np.ndarray) -> "Placed | Anchored":
        """The equations at q (N, nv) without kernels: of many samples in NumPy, of few through Pinocchio's anchors."""
        return self._batch.at(q) if len(q) >= kernel_choice.FEW and self._batch else Anchored(self, q)

    def placed(self, q: np.ndarray, whole: bool = False) -> Placed:
        """The bodies of the loops at q (N, nv), or of the `whole` tree, in NumPy whatever the number of samples.

        Raises:
            RobodynError: the tree has joints of more than one degree of freedom.
        """
        batch = self._whole_batch if whole else self._batch
        if batch is None:
            raise RobodynError(f"{self.model.name}: every joint of the tree must have one degree of freedom")
        return batch.at(q)

    @cached_property
    def _batch(self) -> Batch | None:
        compiled = self.compiled()
        return Batch(*compiled) if compiled else None

    @cached_property
    def _whole_batch(self) -> Batch | None:
        compiled = self.compiled()
        return Batch(*compiled, whole=True) if compiled else None

    def by_anchors(self, q: np.ndarray, v: np.ndarray | None = None) -> LoopRows:
        """As `evaluate`, through Pinocchio's anchors sample by sample."""
        phi, J, drift = [np.empty((len(q), 0))], [np.empty((len(q), 0, q.shape[1]))], [np.empty((len(q), 0))]
        anchors = iter(self._sample(q, v))
        for closure in self.closures:
            rows = self._coupling(closure, q) if isinstance(closure, Coupling) else equations(closure, next(anchors))
            phi.append(rows[0])
            J.append(rows[1])
            drift.append(rows[2])
        return LoopRows(np.concatenate(phi, axis=1), np.concatenate(J, axis=1), np.concatenate(drift, axis=1))

    def _sample(self, q: np.ndarray, v: np.ndarray | None) -> list[Anchors]:
        """Run Pinocchio once per sample and collect what its anchors hold; without v all is at rest."""
        model, data, models, datas, live = self.model, self.data, self._models, self._datas, self._live
        if not live:
            return []
        n, nv = q.shape
        full, ends = self._full, self._ends
        J, d = np.empty((n, ends[-1], nv)), np.zeros((len(live), n, 3))
        R = [np.empty((n if f else 0, 3, 3)) for f in full]
        rate, drift = ([np.zeros((n, 6 if f else 3)) for f in full] for _ in range(2))
        zero = np.zeros(nv)
        for i in range(n):
            if v is not None:
                pin.forwardKinematics(model, data, q[i], v[i], zero)
                pin.computeJointJacobians(model, data)
            else:
                pin.computeJointJacobians(model, data, q[i])
            for calc, anchor_data in self._calc:
                calc(model, data, anchor_data)  # getConstraintsJacobian returns garbage without it
            J[i] = pin.getConstraintsJacobian(model, data, models, datas)
            for k, at in enumerate(live):
                if v is not None:
                    rate[k][i] = at.constraint_velocity_error
                    drift[k][i] = at.constraint_acceleration_error  # the field named "bias" stays zero
                if full[k]:
                    d[k, i], R[k][i] = at.c1Mc2.translation, at.c1Mc2.rotation
                else:
                    d[k, i] = at.constraint_position_error
        return [Anchors(d[k], R[k], J[:, ends[k] : ends[k + 1]], rate[k], drift[k]) for k in range(len(live))]

    def turning(self, name: str) -> np.ndarray:
        """Which joints turn the members of a closure against each other, (nv,): 1 the second one, -1 the first."""
        signs = np.zeros(self.model.nv)
        for joint, sign in self._chains[[c.name for c in self.closures].index(name)].items():
            signs[self.model.joints[joint].idx_v] = sign
        return signs

    def axes(self, q: np.ndarray) -> np.ndarray:
        """Angular velocity per joint rate, along the world's axes, at q (N, nv): (N, 3, nv), zero for joints that slide."""
        axes = np.empty((len(q), 3, self.model.nv))
        for i, sample in enumerate(q):
            axes[i] = pin.computeJointJacobians(self.model, self.data, sample).reshape(6, -1)[3:]
        return axes

    def _coupling_row(self, closure: Coupling) -> np.ndarray:
        row = np.zeros(self.model.nv)
        for joint, factor in closure.joints.items():
            if not self.model.existJointName(joint):
                raise UnknownName("joint", joint, self.model.name, list(self.model.names)[1:])
            row[self.model.joints[self.model.getJointId(joint)].idx_v] = factor
        return row

    def _coupling(self, closure: Coupling, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n, row = len(q), self._couplings[closure.name]
        return (q @ row - closure.offset)[:, None], np.broadcast_to(row, (n, 1, len(row))), np.zeros((n, 1))

    @cached_property
    def _chains(self) -> list[dict[int, float]]:
        return chains(self.model, self.closures, [anchor.extract() for anchor in self._models])

    @cached_property
    def _pattern(self) -> np.ndarray:
        """Which joints a closure involves, (closures, nv)."""
        pattern = np.zeros((len(self.closures), self.model.nv), bool)
        for row, chain in zip(pattern, self._chains, strict=True):
            row[[self.model.joints[j].idx_v for j in chain]] = True
        return pattern

    def plan(self, S: np.ndarray) -> EliminationPlan | None:
        """How [J; S] is eliminated leg by leg; None where it cannot be."""
        key = S.tobytes()
        if key not in self._plans:
            self._plans[key] = elimination_plan([len(KINDS[c.kind].rows) for c in self.closures], self._pattern, S)
        return self._plans[key]

    def compiled(self, S: np.ndarray | None = None) -> tuple[Tree, LoopTable] | None:
        """The arrays that kernels work on, prepared for coordinates S (d, nv); None where kernels cannot serve."""
        key = None if S is None else S.tobytes()
        if key not in self._compiled:
            sizes = [len(KINDS[c.kind].rows) for c in self.closures]
            tree, order = tree_table(self.model), unreduced(sizes, self._pattern) if S is None else self.plan(S)
            anchors = [anchor.extract() for anchor in self._models]
            self._compiled[key] = (
                (tree, loop_table(self.closures, anchors, self._chains, order)) if tree and order else None
            )
        return self._compiled[key]


@dataclass(frozen=True)
class Anchored:
    """As `rows.Placed`, through Pinocchio's anchors: of few samples the faster."""

    loops: Loops
    q: np.ndarray  # (N, nv)

    @cached_property
    def _still(self) -> LoopRows:
        return self.loops.by_anchors(self.q)

    def residual(self) -> np.ndarray:
        """phi (N, m)."""
        return self._still.phi

    def jacobian(self) -> np.ndarray:
        """J (N, m, nv)."""
        return self._still.J

    def drift(self, v: np.ndarray) -> np.ndarray:
        """Drift (N, m) at rates v (N, nv)."""
        return self.loops.by_anchors(self.q, v).drift
