"""Which kinds of closures at cut joints leave the right mobility."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.loops import Loops
from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.errors import BadFile
from robodyn_pin.robot.axes import joint_index
from robodyn_pin.robot.cut_joints import TOGETHER, Cut
from robodyn_pin.robot.mobility import rank
from robodyn_pin.robot.robot import closure_of
from robodyn_pin.robot.robot_file import FrameClosureSpec

TRIES, STEPS, BESIDE = 8, 40, 0.2  # poses beside home in which freedoms are counted; [rad or m]
CLOSED = 1e-9  # [m or rad]
TRIED = ("planar_point", "point", "revolute", "frame")
DIRECTED = {"planar_point": "normal", "revolute": "axis"}  # kinds with a direction, and its key


@dataclass(frozen=True)
class Closed:
    """Closures for all cuts, and what they leave."""

    specs: tuple[FrameClosureSpec, ...]
    freedom: int  # degrees of freedom beside home
    redundant: int  # closure equations that say nothing new
    held: bool  # the driven joints determine the motion

    @property
    def kinds(self) -> str:
        """Their kinds, each once."""
        return " and ".join(dict.fromkeys(spec.kind for spec in self.specs))


def closures_of(
    model: pin.Model,
    cuts: Sequence[Cut],
    others: Sequence[object],
    home: np.ndarray,
    wanted: int | None,
    driven: Sequence[str] = (),
) -> Closed:
    """Return closures that leave the wanted mobility, with as few superfluous equations as possible.

    All cuts have one kind first; where that leaves another mobility, single cuts take another kind.

    Args:
        others: closures that are there already.
        wanted: degrees of freedom, a guess; None: at least one.
        driven: joints with motors; where they are known, they must determine the motion.

    Raises:
        BadFile: no closures close with this mobility; says what each kind leaves.
    """

    S = np.eye(model.nv)[[joint_index(model, name) for name in driven]].reshape(-1, model.nv)

    def tried(specs: Sequence[FrameClosureSpec | None]) -> Closed | None:
        whole = [spec for spec in specs if spec is not None]
        if len(whole) < len(specs):
            return None
        loops = Loops(model, [*others, *(closure_of(s) for s in whole)])  # type: ignore[list-item]
        if (at := regular(loops, home)) is None:
            return None
        J = loops.evaluate(at[None]).J[0]
        independent = rank(J)
        held = rank(np.concatenate([J, S])) == model.nv
        return Closed(tuple(whole), model.nv - independent, loops.size - independent, held)

    def cost(x: Closed) -> tuple[int, bool, int]:
        return (
            abs(x.freedom - wanted) if wanted is not None else int(x.freedom == 0),
            bool(driven) and not x.held,
            x.redundant,
        )

    found = [x for kind in TRIED if (x := tried([_spec(model, cut, kind, 0, home) for cut in cuts])) is not None]
    best = min(found, key=cost, default=None)
    for _ in cuts if driven else ():
        if best is None or (best.freedom == wanted and best.held):
            break
        others_of = [
            (*best.specs[:i], _spec(model, cut, kind, axis, home), *best.specs[i + 1 :])
            for i, cut in enumerate(cuts)
            for kind in TRIED
            for axis in range(len(cut.axes) if kind in DIRECTED else 1)
        ]
        best = min((best, *(x for specs in others_of if (x := tried(specs)) is not None)), key=cost)
    if best is None or (driven and best.freedom < len(driven)) or best.freedom == 0:
        left = ", ".join(f"{x.kinds} {x.freedom}" for x in found) or "none of them closes"
        ties = ", ".join(f"{c.between[0]} and {c.between[1]}" for c in cuts[:3])
        more = f" and {len(cuts) - 3} more" if len(cuts) > 3 else ""
        raise BadFile(
            f"closures of {ties}{more} should leave {wanted or 'some'} degrees of freedom, one for each motor, but leave: {left}; "
            "write 'closures' by hand"
        )
    return best


def regular(loops: Loops, home: np.ndarray) -> np.ndarray | None:
    """Return closed joint positions (nv,) near home with as many independent equations as any found; None: nothing closes."""
    rng, best, most = np.random.default_rng(0), None, -1
    for k in range(TRIES):
        q = home + (BESIDE * rng.uniform(-1, 1, len(home)) if k else 0.0)
        for _ in range(STEPS):
            rows = loops.evaluate(q[None])
            if np.abs(rows.phi).max() < CLOSED:
                if (found := rank(rows.J[0])) > most:
                    best, most = q, found
                break
            q = q - np.linalg.lstsq(rows.J[0], rows.phi[0], rcond=1e-6)[0]
    return best


def _spec(model: pin.Model, cut: Cut, kind: str, axis: int, home: np.ndarray) -> FrameClosureSpec | None:
    """Return a closure of a kind for a cut; None where it needs a direction that nobody shows."""
    data = model.createData()
    pin.framesForwardKinematics(model, data, home)
    entry: dict[str, object] = {"name": cut.name, "kind": kind, "between": cut.between}
    if any(point.any() for point in cut.at):
        entry["at"] = tuple(_plain(point) for point in cut.at)
    if kind in DIRECTED:
        if axis >= len(cut.axes):
            return None
        turns = [data.oMf[frame_id(model, name)].rotation for name in cut.between]
        first, second = (turn.T @ cut.axes[axis] for turn in turns)
        if kind == "revolute" and np.abs(first - second).max() > TOGETHER:
            return None  # `axis` has the same numbers in both frames
        entry[DIRECTED[kind]] = _plain(first)
    return FrameClosureSpec.model_validate(entry)


def _plain(vector: np.ndarray) -> tuple[float, ...]:
    """Return a vector with its round-off taken out."""
    return tuple(float(x) + 0.0 for x in np.round(vector, 9))
