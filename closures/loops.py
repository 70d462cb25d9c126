"""All loops of a robot together: phi(q) = 0, its Jacobian J and its drift, for a batch of samples."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.kinds import KINDS, Anchors, Closure, Coupling
from robodyn_pin.errors import UnknownName


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
        self.row_names = [f"{c.name}.{row}" for c in closures for row in _row_labels(c)]
        self.row_owner = [c.name for c in closures for _ in _row_labels(c)]
        self._data = model.createData()
        self._framed = [c for c in closures if isinstance(c, Closure)]
        self._models, self._datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
        for closure in self._framed:
            self._models.append(pin.ConstraintModel(self._anchor(closure)))
            self._datas.append(self._models[-1].createData())
        self._live = [d.extract() for d in self._datas]  # references: filled anew by every calc

    @property
    def size(self) -> int:
        """Number of equations."""
        return len(self.row_names)

    def _anchor(self, closure: Closure) -> object:
        a, b = (self._frame(name) for name in (closure.frame_a, closure.frame_b))
        anchor = pin.FrameAnchorConstraintModel if KINDS[closure.kind].full_frame else pin.PointAnchorConstraintModel
        placement_a, placement_b = a.placement * closure.placement_a, b.placement * closure.placement_b
        return anchor(self.model, a.parentJoint, placement_a, b.parentJoint, placement_b)

    def _frame(self, name: str) -> pin.Frame:
        if not self.model.existFrame(name):
            raise UnknownName("frame", name, self.model.name, [f.name for f in self.model.frames])
        return self.model.frames[self.model.getFrameId(name)]

    def evaluate(self, q: np.ndarray, v: np.ndarray | None = None) -> LoopRows:
        """Residual, Jacobian and drift at q (N, nv) and v (N, nv); without v the drift is that of rest, zero."""
        v = np.zeros_like(q) if v is None else v
        phi, J, drift = [], [], []
        anchors = iter(self._sample(q, v))
        for closure in self.closures:
            if isinstance(closure, Coupling):
                rows = self._coupling(closure, q)
            else:
                rows = KINDS[closure.kind].select(closure, next(anchors), v)
            for collected, part in zip((phi, J, drift), rows, strict=True):
                collected.append(part)
        n, nv = q.shape
        return LoopRows(
            phi=np.concatenate([np.empty((n, 0)), *phi], axis=1),
            J=np.concatenate([np.empty((n, 0, nv)), *J], axis=1),
            drift=np.concatenate([np.empty((n, 0)), *drift], axis=1),
        )

    def _sample(self, q: np.ndarray, v: np.ndarray) -> list[Anchors]:
        """Run Pinocchio once per sample and collect what its anchors hold."""
        model, data, models, datas, live = self.model, self._data, self._models, self._datas, self._live
        if not live:
            return []
        n, nv = q.shape
        full = [KINDS[c.kind].full_frame for c in self._framed]
        sizes = [6 if f else 3 for f in full]
        J = np.empty((n, sum(sizes), nv))
        d = [np.empty((n, 3)) for _ in live]
        R = [np.empty((n if f else 0, 3, 3)) for f in full]
        drift = [np.empty((n, size)) for size in sizes]
        zero, steps = np.zeros(nv), list(zip(models, datas, strict=True))
        for i in range(n):
            pin.forwardKinematics(model, data, q[i], v[i], zero)
            pin.computeJointJacobians(model, data)
            for anchor, anchor_data in steps:
                anchor.calc(model, data, anchor_data)  # getConstraintsJacobian returns garbage without it
            J[i] = pin.getConstraintsJacobian(model, data, models, datas)
            for k, held in enumerate(live):
                drift[k][i] = held.constraint_acceleration_error  # the field named "bias" stays zero
                if full[k]:
                    d[k][i], R[k][i] = held.c1Mc2.translation, held.c1Mc2.rotation
                else:
                    d[k][i] = held.constraint_position_error
        ends = np.cumsum([0, *sizes])
        return [
            Anchors(d[k], R[k], J[:, ends[k] : ends[k + 1]], drift[k]) for k in range(len(live))
        ]

    def _coupling(self, closure: Coupling, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n, nv = q.shape
        row = np.zeros(nv)
        for joint, factor in closure.joints.items():
            if not self.model.existJointName(joint):
                raise UnknownName("joint", joint, self.model.name, list(self.model.names)[1:])
            row[self.model.joints[self.model.getJointId(joint)].idx_v] = factor
        phi = (q @ row - closure.offset)[:, None]
        return phi, np.broadcast_to(row, (n, 1, nv)), np.zeros((n, 1))


def _row_labels(closure: Closure | Coupling) -> tuple[str, ...]:
    return ("coupling",) if isinstance(closure, Coupling) else KINDS[closure.kind].rows
