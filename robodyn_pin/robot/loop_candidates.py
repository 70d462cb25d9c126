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
from robodyn_pin.robot.axes import joint_index
from robodyn_pin.robot.mobility import rank
from robodyn_pin.robot.robot import closure_of
from robodyn_pin.robot.robot_file import FrameClosureSpec

TOGETHER = 1e-4  # of the robot's size: frames that near lie at one place
TRIES, STEPS, BESIDE = 8, 40, 0.2  # poses beside home in which freedoms are counted; [rad or m]
CLOSED = 1e-9  # [m or rad]
TRIED = ("planar_point", "point", "revolute", "frame")
DIRECTED = {"planar_point": "normal", "revolute": "axis"}  # kinds with a direction, and its key

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

    def near(p: np.ndarray, q: np.ndarray) -> bool:
        return bool(np.linalg.norm(p - q) <= TOGETHER * size)

    pairs = [
        (a, b)
        for i, a in enumerate(place)
        for b in list(place)[i + 1 :]
        if near(place[a], place[b]) and _may_tie(model, body[a], body[b], a in marks, b in marks)
    ]
    # Two marks count before one; of bodies that a joint at that place ties already, the one farther from the base.
    pairs.sort(key=lambda p: (sum(x not in marks for x in p), -sum(len(model.supports[body[x]]) for x in p)))
    cuts: list[Cut] = []
    remarks: list[str] = []
    groups: list[tuple[np.ndarray, dict[int, int]]] = []  # place, and body -> number of what is tied there
    for a, b in pairs:
        tied = next((bodies for at, bodies in groups if near(at, place[a])), None)
        if tied is None:
            here = {body[x] for pair in pairs for x in pair if near(place[x], place[a])}
            tied = {j: j for j in here}
            for j in here:
                if model.parents[j] in here and near(data.oMi[j].translation, place[a]):
                    _join(tied, j, model.parents[j])
            groups.append((place[a], tied))
        ends = {tied[body[a]], tied[body[b]]}
        if len(ends) == 1:
            continue
        same = [p for p in pairs if near(place[p[0]], place[a]) and {tied[body[p[0]]], tied[body[p[1]]]} == ends]
        offered = [" and ".join(pair) for pair in same]
        chosen = same[0]
        if len(same) > 1:
            answer = ask("which of these frames meet where a loop was cut", offered)
            chosen = same[offered.index(answer)]
            remarks.append(
                f"{answer} meet where a loop was cut; so could {'; '.join(x for x in offered if x != answer)}"
            )
        _join(tied, body[a], body[b])
        axes = [_axis(model, data, home, body[x]) for x in chosen if body[x]]
        axes += [axis for x in chosen for axis in data.oMf[model.getFrameId(x)].rotation.T]
        apart = [x for k, x in enumerate(axes) if all(abs(x @ y) < 1 - TOGETHER for y in axes[:k])]
        cuts.append(Cut(f"loop_{len(cuts) + 1}", chosen, axes=tuple(apart)))
    return cuts, remarks


def _join(tied: dict[int, int], a: int, b: int) -> None:
    """Make what two bodies belong to one."""
    old, new = tied[a], tied[b]
    tied.update({body: new for body, group in tied.items() if group == old})


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
        turns = [data.oMf[model.getFrameId(name)].rotation for name in cut.between]
        first, second = (turn.T @ cut.axes[axis] for turn in turns)
        if kind == "revolute" and np.abs(first - second).max() > TOGETHER:
            return None  # `axis` has the same numbers in both frames
        entry[DIRECTED[kind]] = _plain(first)
    return FrameClosureSpec.model_validate(entry)


def _plain(vector: np.ndarray) -> tuple[float, ...]:
    """Return a vector with its round-off taken out."""
    return tuple(float(x) + 0.0 for x in np.round(vector, 9))
