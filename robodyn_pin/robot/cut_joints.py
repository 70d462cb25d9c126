"""Where a tree looks like a loop that was cut.

Exporters cut loops: they leave two frames, one on each side of the cut, that lie at one place as assembled. Two frames
count if a link without children, fixed to its body, marks at least one side, and no joint ties their bodies already.
"""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.named_frames import frame_id

TOGETHER = 1e-4  # of the robot's size: frames that near lie at one place

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
    place = {f.name: data.oMf[frame_id(model, f.name)].translation for f in frames}
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

    def marked(pair: tuple[str, str]) -> int:
        return sum(name in marks for name in pair)

    # Two marks count before one; of bodies that a joint at that place ties already, the one farther from the base.
    pairs.sort(key=lambda p: (-marked(p), -sum(len(model.supports[body[x]]) for x in p)))
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
        # Other frames of the same bodies would do the same; other bodies, marked as well, would not.
        rivals = {
            (body[p[0]], body[p[1]]): p
            for p in reversed(pairs)
            if near(place[p[0]], place[a])
            and {tied[body[p[0]]], tied[body[p[1]]]} == ends
            and marked(p) == marked((a, b))
        }
        offered = [" and ".join(pair) for pair in reversed(rivals.values())]
        chosen = (a, b)
        if len(rivals) > 1:
            answer = ask("which of these frames meet where a loop was cut", offered)
            chosen = next(pair for pair in rivals.values() if " and ".join(pair) == answer)
            remarks.append(
                f"{answer} meet where a loop was cut; so could {'; '.join(x for x in offered if x != answer)}"
            )
        _join(tied, body[a], body[b])
        axes = [_axis(model, data, home, body[x]) for x in chosen if body[x]]
        axes += [axis for x in chosen for axis in data.oMf[frame_id(model, x)].rotation.T]
        apart = [x for k, x in enumerate(axes) if all(abs(x @ y) < 1 - TOGETHER for y in axes[:k])]
        cuts.append(Cut(f"loop_{len(cuts) + 1}", chosen, axes=tuple(apart)))
    return cuts, remarks


def _join(tied: dict[int, int], a: int, b: int) -> None:
    """Make what two bodies belong to one."""
    old, new = tied[a], tied[b]
    tied.update({body: new for body, group in tied.items() if group == old})


def _marks(urdf: str) -> set[str]:
    """Return the links that only mark a place: fixed to their parent, without mass, nothing on them but further marks."""
    joints = [
        j for j in ET.fromstring(urdf).findall("joint") if j.find("parent") is not None and j.find("child") is not None
    ]
    ends = [(str(j.find("parent").get("link")), str(j.find("child").get("link")), j.get("type")) for j in joints]  # type: ignore[union-attr]
    massive = {
        str(link.get("name")) for link in ET.fromstring(urdf).findall("link") if link.find("inertial") is not None
    }
    marks = {child for _, child, kind in ends if kind == "fixed" and child not in massive}
    while loaded := {parent for parent, child, _ in ends if child not in marks} & marks:
        marks -= loaded
    return marks


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
