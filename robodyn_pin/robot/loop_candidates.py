"""Where a tree looks like a loop that was cut, and which kind of closure leaves the right mobility.

Exporters cut loops: they leave two frames, one on each side of the cut, that lie at one place as assembled. Two frames
count if a link without children, fixed to its body, marks at least one side, and no joint ties their bodies already.
"""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.loops import Loops
from robodyn_pin.errors import BadFile
from robodyn_pin.robot.mobility import rank
from robodyn_pin.robot.robot import closure_of
from robodyn_pin.robot.robot_file import FrameClosureSpec
from robodyn_pin.robot.urdf_tree import body_name

TOGETHER = 1e-4  # of the robot's size: frames that near lie at one place
TRIES, STEPS, BESIDE = 8, 40, 0.2  # poses beside home in which freedoms are counted; [rad or m]
CLOSED = 1e-9  # [m or rad]

Ask = Callable[[str, list[str]], str]  # question, answers with the usual one first -> answer


@dataclass(frozen=True)
class Cut:
    """Two frames that lie at one place, and along what a pin there might turn: directions in the world, likeliest first."""

    name: str
    between: tuple[str, str]
    at: tuple[np.ndarray, np.ndarray] = (np.zeros(3), np.zeros(3))  # [m] in each frame
    axes: tuple[np.ndarray, ...] = ()


def coincident(model: pin.Model, urdf: str, home: np.ndarray, ask: Ask) -> tuple[list[Cut], list[str]]:
    """Return the cuts that coincident frames show, one for each pair of bodies to be tied, and remarks on choices.

    Args:
        model: the tree, `urdf` its text, `home` (nv,) the pose in which it is drawn.
        ask: which pair ties two bodies where several could.
    """
    data = model.createData()
    pin.framesForwardKinematics(model, data, home)
    marks = _marks(urdf)
    frames = [f for f in model.frames if f.type == pin.FrameType.BODY]
    place = {f.name: data.oMf[model.getFrameId(f.name)].translation for f in frames}
    body = {f.name: f.parentJoint for f in frames}
    size = max((float(np.linalg.norm(p - q)) for p in place.values() for q in place.values()), default=0.0)
    pairs = [
        (a, b)
        for i, a in enumerate(place)
        for b in list(place)[i + 1 :]
        if np.linalg.norm(place[a] - place[b]) <= TOGETHER * size
        and _may_tie(model, body[a], body[b], a in marks, b in marks)
    ]
    cuts: list[Cut] = []
    remarks: list[str] = []
    tied: list[tuple[set[int], np.ndarray]] = []  # bodies that are tied at a place
    for a, b in sorted(pairs, key=lambda pair: sum(name not in marks for name in pair)):
        here = next((group for group, at in tied if {body[a], body[b]} <= group and _near(at, place[a], size)), None)
        if here is not None:
            continue
        same = [
            p for p in pairs if {body[p[0]], body[p[1]]} == {body[a], body[b]} and _near(place[p[0]], place[a], size)
        ]
        chosen = (a, b)
        if len(same) > 1:
            offered = [" and ".join(pair) for pair in ((a, b), *(p for p in same if p != (a, b)))]
            answer = ask(
                f"which frames meet where {body_name_of(model, body[a])} and {body_name_of(model, body[b])} do", offered
            )
            chosen = next(pair for pair in same if " and ".join(pair) == answer)
            remarks.append(f"{answer}: one of {len(same)} pairs at that place ({'; '.join(offered)})")
        groups = [k for k, (group, at) in enumerate(tied) if _near(at, place[a], size) and {body[a], body[b]} & group]
        merged = {body[a], body[b]}.union(*(tied[k][0] for k in groups))
        tied = [entry for k, entry in enumerate(tied) if k not in groups] + [(merged, place[a])]
        axes = tuple(_axis(model, data, home, j) for j in (body[a], body[b]) if j)
        cuts.append(Cut(f"loop_{len(cuts) + 1}", chosen, axes=axes))
    return cuts, remarks


def body_name_of(model: pin.Model, joint: int) -> str:
    """Return the link that a joint moves, or that of the base."""
    return body_name(model, joint) if joint else next(f.name for f in model.frames if f.type == pin.FrameType.BODY)


def _near(a: np.ndarray, b: np.ndarray, size: float) -> bool:
    return bool(np.linalg.norm(a - b) <= TOGETHER * size)


def _marks(urdf: str) -> set[str]:
    """Return the links that only mark a place: fixed to their parent, without children, without mass to speak of."""
    root = ET.fromstring(urdf)
    ends = {
        str(joint.find("child").get("link")): joint  # type: ignore[union-attr]
        for joint in root.findall("joint")
        if joint.get("type") == "fixed" and joint.find("child") is not None
    }
    parents = {str(p.get("link")) for p in root.iterfind("joint/parent")}
    return {name for name in ends if name not in parents}


def _may_tie(model: pin.Model, a: int, b: int, marked_a: bool, marked_b: bool) -> bool:
    """Return whether frames of the bodies of joints a and b may be the two sides of a cut: not one body, no neighbours."""
    if a == b or model.parents[a] == b or model.parents[b] == a or not (marked_a or marked_b):
        return False
    above = a in model.supports[b] or b in model.supports[a]
    return (marked_a and marked_b) or not above  # wrists have joints at one place, one above the other


def _axis(model: pin.Model, data: pin.Data, q: np.ndarray, joint: int) -> np.ndarray:
    """Return the axis of a joint in the world (3,)."""
    pin.computeJointJacobians(model, data, q)
    column = pin.getJointJacobian(model, data, joint, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
    column = column.reshape(6, model.nv)[:, model.joints[joint].idx_v]
    return column[3:] if np.abs(column[3:]).max() > 0.5 else column[:3]


@dataclass(frozen=True)
class Closed:
    """Closures of one kind for all cuts, and what they leave."""

    kind: str
    specs: tuple[FrameClosureSpec, ...]
    freedom: int  # degrees of freedom beside home
    redundant: int  # closure equations that say nothing new


def closures_of(
    model: pin.Model, cuts: Sequence[Cut], others: Sequence[object], home: np.ndarray, wanted: int | None
) -> Closed:
    """Return closures that leave the wanted mobility, with as few superfluous equations as possible.

    Args:
        others: closures that are there already.
        wanted: degrees of freedom; None: at least one, with the fewest equations.

    Raises:
        BadFile: no kind closes with this mobility; says what each leaves.
    """
    found = []
    for kind in ("planar_point", "point", "revolute", "frame"):
        specs = _specs(model, cuts, kind, home)
        if specs is None:
            continue
        freedom, rows, independent = counted(model, [*others, *(closure_of(s) for s in specs)], home)
        if freedom is not None:
            found.append(Closed(kind, specs, freedom, rows - independent))
    fitting = [x for x in found if (x.freedom == wanted if wanted is not None else x.freedom > 0)]
    if not fitting:
        left = ", ".join(f"{x.kind} {x.freedom}" for x in found) or "none of them closes"
        ties = ", ".join(f"{c.between[0]} and {c.between[1]}" for c in cuts)
        raise BadFile(
            f"closures of {ties} should leave {wanted or 'some'} degrees of freedom, one for each motor, but leave: {left}; "
            "write the 'closures' by hand"
        )
    return min(fitting, key=lambda x: (x.redundant, -len(x.specs)))


def counted(model: pin.Model, closures: Sequence[object], home: np.ndarray) -> tuple[int | None, int, int]:
    """Return degrees of freedom beside home (None where the loops do not close there), number of equations, their rank."""
    loops = Loops(model, list(closures))  # type: ignore[arg-type]
    if loops.size == 0:
        return model.nv, 0, 0
    at = regular(loops, home)
    if at is None:
        return None, loops.size, 0
    independent = rank(loops.evaluate(at[None]).J[0])
    return model.nv - independent, loops.size, independent


def regular(loops: Loops, home: np.ndarray) -> np.ndarray | None:
    """Return closed joint positions (nv,) near home with as many independent equations as any found; None: nothing closes."""
    rng, best, most = np.random.default_rng(0), None, -1
    for k in range(TRIES):
        q = home + (BESIDE * rng.uniform(-1, 1, len(home)) if k else 0.0)
        for _ in range(STEPS):
            rows = loops.evaluate(q[None])
            q = q - np.linalg.lstsq(rows.J[0], rows.phi[0], rcond=1e-6)[0]
        rows = loops.evaluate(q[None])
        if np.abs(rows.phi).max() < CLOSED and (found := rank(rows.J[0])) > most:
            best, most = q, found
    return best


def _specs(model: pin.Model, cuts: Sequence[Cut], kind: str, home: np.ndarray) -> tuple[FrameClosureSpec, ...] | None:
    """Return closures of a kind for all cuts; None where the kind needs a direction that nobody shows."""
    data = model.createData()
    pin.framesForwardKinematics(model, data, home)
    specs = []
    for cut in cuts:
        turns = [data.oMf[model.getFrameId(name)].rotation for name in cut.between]
        entry: dict[str, object] = {"name": cut.name, "kind": kind, "between": cut.between}
        if any(point.any() for point in cut.at):
            entry["at"] = tuple(_plain(point) for point in cut.at)
        if kind in ("planar_point", "revolute"):
            if not cut.axes:
                return None
            first, second = (turn.T @ cut.axes[0] for turn in turns)
            if kind == "revolute" and np.abs(first - second).max() > TOGETHER:
                return None  # `axis` has the same numbers in both frames
            entry["normal" if kind == "planar_point" else "axis"] = _plain(first)
        specs.append(FrameClosureSpec.model_validate(entry))
    return tuple(specs)


def _plain(vector: np.ndarray) -> tuple[float, ...]:
    """Return a vector with its round-off taken out."""
    return tuple(float(x) + 0.0 for x in np.round(vector, 9))
