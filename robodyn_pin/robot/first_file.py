"""A first robot file, from the file that somebody has: what was found, what was assumed, as comments in it."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.loops import Loops
from robodyn_pin.errors import BadFile, WrongMobility
from robodyn_pin.files import read_text
from robodyn_pin.robot.axes import joint_index
from robodyn_pin.robot.cut_joints import Ask, Cut, coincident
from robodyn_pin.robot.cut_kinds import closures_of, regular
from robodyn_pin.robot.exported_loops import Driven, closing_frames, driven_joints, hinges_beside
from robodyn_pin.robot.first_text import Notes, counted_as, file_text, note_limits
from robodyn_pin.robot.frames import name_frames
from robodyn_pin.robot.mobility import rank
from robodyn_pin.robot.reading import describe, is_gepetto
from robodyn_pin.robot.robot import Robot, build, closure_of
from robodyn_pin.robot.robot_file import MotorSpec, RobotFile
from robodyn_pin.robot.sources import find
from robodyn_pin.robot.urdf_constraints import constraints_of
from robodyn_pin.robot.urdf_joints import coupled, split
from robodyn_pin.robot.urdf_tree import parse_urdf, read_xml


@dataclass(frozen=True)
class First:
    """A first robot file."""

    robot: Robot
    text: str
    urdf: str | None  # a tree that must be written beside it; None: the file itself is the tree
    notes: Notes


def first_file(path: Path, out: Path, ask: Ask, text: str | None = None) -> First:
    """Return the robot file that a URDF, MJCF, SDF or Gepetto's YAML leads to, which loads as it stands.

    Args:
        out: where it will be written; its `urdf` counts from there.
        ask: the answer to a question that the files leave open: question, answers with the usual one first.
        text: of a URDF that will be written to `path`.

    Raises:
        BadFile: no such robot, or one of our robot files already. Others as `load`.
    """
    if path.suffix in (".yaml", ".yml") and not is_gepetto(read_text(path)):
        raise BadFile(f"{path} is a robot file already; robodyn check {path} says what it holds")
    file, urdf, tree = describe(find(path) if path.suffix else path, text)
    notes, where = Notes(), f"robot {out.stem!r}"
    plain, sayings = split(urdf, tree)
    model, _ = parse_urdf(plain, tree)
    joints = list(model.names)[1:]
    # What MJCF and SDF say of loops, they say plainly; a URDF is one whatever its suffix.
    native = bool(file.closures) or read_xml(text or read_text(tree), tree).tag != "robot"
    changes: dict[str, Any] = {}
    driven = None if file.motors else driven_joints(urdf, joints)
    full, _ = coupled(file, sayings, joints)
    home = np.zeros(model.nv)
    for joint, value in full.home.items():
        home[joint_index(model, joint)] = value
    others = [closure_of(spec) for spec in full.closures]
    if others:
        notes.found.append(f"{counted_as(len(others), 'closure')} in {tree.name}: {', '.join(c.name for c in others)}")
    said, frames = constraints_of(plain, tree)
    if said:
        name_frames(model, frames, where)
        changes |= {"frames": file.frames | frames, "closures": [*file.closures, *said]}
        others += [closure_of(spec) for spec in said]
        notes.found += [f"<constraint> {spec.name}: a closure, {spec.kind}" for spec in said]
    elif not native:
        cuts, driven = _cuts(model, urdf, tree, home, driven, ask, notes)
        free = model.nv - _rank(model, others, home)
        if cuts and driven and len(driven.joints) == free:
            ties = ", ".join(" and ".join(cut.between) for cut in cuts)
            notes.found.append(f"frames at one place, not closed, since every freedom has a motor already: {ties}")
        elif cuts:
            wanted = len(driven.joints) if driven else _roots(model)
            chosen = closures_of(model, cuts, others, home, wanted, driven.joints if driven else ())
            changes["closures"] = [*file.closures, *chosen.specs]
            others += [closure_of(spec) for spec in chosen.specs]
            more = f", {chosen.redundant} of the equations say nothing new" if chosen.redundant else ""
            notes.beside["closures"] = (
                f"assumed: kind {chosen.kinds}, which leaves {chosen.freedom} degrees of freedom beside home{more}; "
                "what it does not hold (across a plane, say) has no forces either"
            )
            notes.assumed.append(f"the kind of the closures, {chosen.kinds}")
    _motors(model, file, full.motors, others, home, driven, changes, notes, ask)
    if sayings.losses:
        notes.found.append("damping and friction of <dynamics>: efforts to be identified, with those starting values")
    elif not file.efforts:
        motors = [m.name if isinstance(m, MotorSpec) else m for m in changes.get("motors") or file.motors or joints]
        changes["efforts"] = [{"of": m, "model": kind} for m in motors for kind in ("viscous", "coulomb")]
        notes.beside["efforts"] = "assumed: friction of every motor, to be identified; until then it is zero"
        notes.assumed.append("viscous and Coulomb friction at every motor")
    if driven and driven.gear:
        motors = changes.get("motors", [])
        changes["gear"] = {joint: ratio for joint, ratio in driven.gear.items() if joint in motors}
        notes.beside["gear"] = (
            "of <mechanicalReduction>: turns of the motor per turn of the joint; torques of logs are those after the gear"
        )
    notes.found += [
        f"{m.joint} follows {m.other}, <mimic>: q = {m.multiplier:g} q + {m.offset:g}, a coupling"
        for m in sayings.mimics
    ]
    return _written(path, out, file, changes, urdf, tree, notes, where, model)


def _cuts(
    model: pin.Model, urdf: str, tree: Path, home: np.ndarray, driven: Driven | None, ask: Ask, notes: Notes
) -> tuple[list[Cut], Driven | None]:
    """Return where loops were cut, from what says so most plainly, and which joints are driven."""
    cuts, moving, beside = hinges_beside(model, tree)
    if beside is not None:
        notes.found.append(f"{counted_as(len(cuts), 'cut hinge')} in {beside.name}")
        return cuts, driven or Driven(tuple(moving), f"the independent joints of {beside.name}", {})
    if cuts := closing_frames(model, home):
        notes.found += [f"{' and '.join(cut.between)} mark a cut joint, its axis along z" for cut in cuts]
        return cuts, driven
    cuts, remarks = coincident(model, urdf, home, ask)
    notes.found += [f"{c.between[0]} and {c.between[1]} lie at one place as drawn: a cut joint" for c in cuts]
    notes.assumed += remarks
    return cuts, driven


def _roots(model: pin.Model) -> int | None:
    """Return how many joints stand on the base, which is how many motors a parallel robot usually has; None for one chain."""
    count = sum(model.parents[j] == 0 for j in range(1, model.njoints))
    return count if count > 1 else None


def _rank(model: pin.Model, closures: list[Any], home: np.ndarray) -> int:
    loops = Loops(model, closures)
    at = regular(loops, home) if loops.size else None
    return 0 if at is None else rank(loops.evaluate(at[None]).J[0])


def _motors(
    model: pin.Model, file: RobotFile, given: Any, closures: list[Any], home: np.ndarray, driven: Driven | None,
    changes: dict[str, Any], notes: Notes, ask: Ask,
) -> None:  # fmt: skip
    """Settle motors and coordinates."""
    joints = list(model.names)[1:]
    freedom = model.nv - _rank(model, closures, home)
    if file.motors is not None:
        changes["motors"] = list(file.motors)
        notes.beside["motors"] = "of the actuators in the file"
    elif driven is not None:
        changes["motors"] = list(driven.joints)
        notes.beside["motors"] = driven.why
        if driven.unread:
            notes.assumed.append(
                f"no gear at motors whose <mechanicalReduction> is no number ({driven.unread!r}): write 'gear' into the run file"
            )
    elif freedom == model.nv or (given is not None and len(given) == freedom):
        changes["motors"] = list(given or joints)
        notes.beside["motors"] = "every joint that moves by itself; take out those without a motor"
    else:
        usual = _independent(model, closures, home, joints)
        answer = ask(f"which {freedom} joints have motors (names, separated by commas)", [", ".join(usual)])
        changes["motors"] = [name.strip() for name in answer.split(",")]
        notes.beside["motors"] = (
            f"assumed: {freedom} joints nearest to the base that determine the motion; nothing in the file says it"
        )
        notes.assumed.append(f"which joints have motors: {', '.join(changes['motors'])}")
    motors = changes["motors"]
    if len(motors) != freedom:
        named = [m if isinstance(m, str) else m.name for m in motors]
        changes["coordinates"] = _independent(model, closures, home, [*(n for n in named if n in joints), *joints])
        notes.beside["coordinates"] = (
            f"{len(motors)} motors for {freedom} degrees of freedom: joints that determine the motion"
        )
        if len(motors) < freedom and not closures:
            notes.assumed.append(
                f"no loops, so that {len(motors)} motors move {freedom} degrees of freedom (if loops were cut, name their closures and drop coordinates)"
            )


def _independent(model: pin.Model, closures: list[Any], home: np.ndarray, first: list[str]) -> list[str]:
    """Return joints that determine the motion: those nearest to the base, of equals the first."""
    loops = Loops(model, closures)
    at = regular(loops, home) if loops.size else home
    rows = loops.evaluate((home if at is None else at)[None]).J[0].reshape(-1, model.nv)
    chosen: list[str] = []
    for name in sorted(dict.fromkeys(first), key=lambda n: len(model.supports[model.getJointId(n)])):
        more = np.concatenate([rows, np.eye(model.nv)[[joint_index(model, name)]]])
        if rank(more) > rank(rows):
            rows, chosen = more, [*chosen, name]
    return [name for name in dict.fromkeys(first) if name in chosen]


def _written(
    path: Path, out: Path, file: RobotFile, changes: dict[str, Any], urdf: str, tree: Path, notes: Notes, where: str,
    model: pin.Model,
) -> First:  # fmt: skip
    """Return the file's text, once it has been loaded as it will stand."""
    native = path.suffix in (".yaml", ".yml")
    own_tree = out.with_suffix(".urdf") if native else tree
    beside = os.path.relpath(own_tree.resolve(), out.resolve().parent)
    # The reader gives closures, losses and home of MJCF and SDF every time; the robot file says what is new.
    contents = {"urdf": beside, **changes}
    if native:
        contents = {"urdf": own_tree.name, "closures": file.closures, **changes}
    spec = RobotFile.model_validate(contents | {"urdf": Path(contents["urdf"])})
    whole = file.model_copy(update={k: getattr(spec, k) for k in spec.model_fields_set})
    try:
        robot = build(out.stem, whole, urdf, tree)
    except WrongMobility as error:
        home = _beside(model, whole)
        if home is None or "singular" not in str(error):
            raise
        contents["home"] = home
        notes.beside["home"] = "the pose as drawn is singular; this one is beside it"
        notes.assumed.append("home, beside the pose as drawn, which is singular")
        spec = RobotFile.model_validate(contents | {"urdf": Path(contents["urdf"])})
        robot = build(out.stem, whole.model_copy(update={"home": spec.home}), urdf, tree)
    note_limits(robot, notes)
    return First(robot, file_text(path, contents, spec, robot, notes), urdf if native else None, notes)


def _beside(model: pin.Model, file: RobotFile) -> dict[str, float] | None:
    """Return a regular pose near home."""
    home = np.zeros(model.nv)
    for joint, value in file.home.items():
        home[joint_index(model, joint)] = value
    at = regular(Loops(model, [closure_of(spec) for spec in file.closures]), home)
    return None if at is None else {n: round(float(x), 6) for n, x in zip(list(model.names)[1:], at, strict=True)}
