"""Does a robot close at home, and do its coordinates determine it? If not, one sentence that says what is wrong."""

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.closing import newton
from robodyn_pin.closures.kinds import FRAMES, KINDS, Closure
from robodyn_pin.closures.loops import Loops
from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.errors import ClosureFailed, WrongMobility
from robodyn_pin.robot.axes import Axes
from robodyn_pin.robot.urdf_tree import body_name

FREE = 1e-7  # singular values below this share of the largest count as zero when degrees of freedom are counted
TRIES, STEPS, BESIDE = 10, 30, 0.3  # of a search for a regular pose; [rad or m] from home
CLOSED = 1e-9  # [m or rad] residual at home that counts as closed


def rank(A: np.ndarray) -> int:
    """Return the rank of a Jacobian (m, nv); 0 where it is not finite: LAPACK need not end with such numbers."""
    if not np.isfinite(A).all():
        return 0
    s = np.linalg.svd(A, compute_uv=False) if A.size else np.zeros(0)
    return int((s > FREE * s[0]).sum()) if len(s) else 0


def close_home(name: str, loops: Loops, coordinates: Axes, q0: np.ndarray) -> np.ndarray:
    """Return joint positions (nv,) on the loops near q0 (nv,), the coordinates held at their values there.

    Raises:
        ClosureFailed: contradicting closures, coordinates that cannot be held, a hinge closed backwards.
        WrongMobility: more coordinates than degrees of freedom.
    """
    if loops.size == 0:
        return q0
    c0 = coordinates.S @ q0 + coordinates.offset
    q = newton(loops, coordinates.S, coordinates.offset, c0[None], q0[None], steps=100)[0]
    phi = loops.evaluate(q[None]).phi[0]
    if not np.abs(phi).max() < CLOSED:
        raise _not_closed(name, loops, coordinates, q0)
    _check_sense(name, loops, q)
    return q


def _not_closed(name: str, loops: Loops, coordinates: Axes, q0: np.ndarray) -> ClosureFailed:
    """Return the error that names what stands in the way: the held coordinates, or the closures themselves."""
    from scipy.optimize import least_squares

    # Newton wanders where there is no solution; least squares stops at the nearest miss.
    near = least_squares(
        lambda q: loops.evaluate(q[None]).phi[0],
        q0,
        lambda q: loops.evaluate(q[None]).J[0],
        xtol=1e-14,
        ftol=1e-14,
        gtol=1e-14,
    )
    missed = {c.name: 0.0 for c in loops.closures}
    for owner, value in zip(loops.row_owner, np.abs(near.fun), strict=True):
        missed[owner] = max(missed[owner], float(value))
    worst = max(missed, key=lambda owner: missed[owner])
    if missed[worst] < CLOSED:
        check_mobility(name, loops.model, loops, coordinates, near.x)  # too many coordinates: they cannot all be held
        return _held(name, loops, coordinates, q0, near.x)
    open_ = [f"{owner!r} by {value:.3g}" for owner, value in missed.items() if value > 0.01 * missed[worst]]
    if len(open_) > 1:
        what = f"closures {' and '.join(open_)} contradict each other, the robot does not close"
    else:
        what = f"closure {worst!r} does not close from the home pose: nearest residual {missed[worst]:.3g}"
    return ClosureFailed(
        f"robot {name!r}: {what}; check the frames and lengths of the closures, "
        "or give a 'home' nearer to an assembled pose",
        0,
        worst,
        missed[worst],
    )


def _held(name: str, loops: Loops, coordinates: Axes, q0: np.ndarray, q: np.ndarray) -> ClosureFailed:
    """Return the error of loops that close at q (nv,), but not with the coordinates of q0 (nv,)."""
    moves = coordinates.S @ (q - q0)
    pose = ", ".join(
        f"{coordinate} = {at:.6g} (at home {at - move:.6g})"
        for coordinate, at, move in zip(coordinates.names, coordinates.S @ q + coordinates.offset, moves, strict=True)
        if abs(move) > CLOSED
    )
    phi = loops.evaluate(q0[None]).phi[0]
    row = int(np.abs(phi).argmax())
    hint = (
        f"they do close with {pose}: put such a pose under 'home'"
        if pose
        else "the home pose is singular: choose another one"
    )
    return ClosureFailed(
        f"robot {name!r}: closure {loops.row_owner[row]!r} does not close while the coordinates keep their home values "
        f"(residual {phi[row]:.3g} at home); {hint}",
        0,
        loops.row_owner[row],
        float(phi[row]),
    )


def _check_sense(name: str, loops: Loops, q: np.ndarray) -> None:
    """Refuse a closure that leaves one axis to turn about and closes with that axis reversed: its equations hold there, too."""
    data = loops.model.createData()
    pin.framesForwardKinematics(loops.model, data, q)
    for closure in loops.closures:
        if not isinstance(closure, Closure) or KINDS[closure.kind].turns != 2:
            continue
        ends = ((closure.frame_a, closure.placement_a), (closure.frame_b, closure.placement_b))
        a, b = (data.oMf[frame_id(loops.model, frame)].rotation @ at.rotation[:, 0] for frame, at in ends)
        if a @ b < 0:
            raise ClosureFailed(
                f"robot {name!r}: closure {closure.name!r} closes with the axis of {closure.frame_b!r} backwards "
                "(residual zero, axes opposed); turn that frame round, or give a 'home' near the right assembly",
                0,
                closure.name,
                0.0,
            )


def check_mobility(name: str, model: pin.Model, loops: Loops, coordinates: Axes, home: np.ndarray) -> None:
    """Check that the coordinates determine the mechanism at home: [J; S] has full column rank, S no more rows than needed.

    Raises:
        WrongMobility: says which joints stay free, or how many coordinates are wanted.
    """
    J = loops.evaluate(home[None]).J[0]
    K = np.concatenate([J, coordinates.S])
    if not np.isfinite(K).all():
        raise WrongMobility(
            f"robot {name!r}: its loops have no finite rates at home; check origins and axes in the URDF"
        )
    freedom, wanted = model.nv - rank(J), len(coordinates.names)
    names = ", ".join(coordinates.names) or "none"
    _, s, Vt = np.linalg.svd(K)
    full = int((s > FREE * s.max(initial=0.0)).sum())
    if full < model.nv:
        free = np.abs(Vt[full:]).max(axis=0)
        loose = [model.names[j] for j in range(1, model.njoints) if free[model.joints[j].idx_v] > 1e-6]
        reason = f"the coordinates ({names}) leave joints free to move: {', '.join(loose)}"
        if (beside := _regular(loops, coordinates, home)) is not None:
            raise WrongMobility(
                f"robot {name!r}: its home pose is singular: there it has {freedom} degrees of freedom, beside it "
                f"{model.nv - rank(loops.evaluate(beside[None]).J[0])}, and {reason}; give a 'home' away from it"
                f"{_example(model, loops, coordinates, home, beside)}"
            )
        raise WrongMobility(
            f"robot {name!r} has {freedom} degrees of freedom; {reason}{_remedy(model, loops, coordinates, J, freedom, loose)}"
        )
    if freedom != wanted:
        raise WrongMobility(
            f"robot {name!r} has {freedom} degrees of freedom but {wanted} coordinates ({names}); name {freedom} independent joints "
            f"or motors under 'coordinates', such as {', '.join(_independent(model, coordinates, J))}"
        )


def _independent(model: pin.Model, coordinates: Axes, J: np.ndarray) -> list[str]:
    """Return coordinates that determine the mechanism: as many as possible of those given, then joints."""
    rows, chosen = J, []
    given = dict(zip(coordinates.names, coordinates.S, strict=True))
    joints = dict(zip(list(model.names)[1:], np.eye(model.nv), strict=True))
    for name, row in (given | {joint: row for joint, row in joints.items() if joint not in given}).items():
        more = np.concatenate([rows, row[None]])
        if rank(more) > rank(rows):
            rows = more
            chosen.append(name)
    return chosen


def _remedy(model: pin.Model, loops: Loops, coordinates: Axes, J: np.ndarray, freedom: int, loose: list[str]) -> str:
    """Return what would hold the joints that are free."""
    enough, lacking = _independent(model, coordinates, J), freedom - len(coordinates.names)
    held = f"; 'coordinates: [{', '.join(enough)}]' would determine it"
    if lacking <= 0:
        return f"; they depend on each other{held}"
    ends = _ends(model, loops, loose)
    sizes = sorted((len(kind.rows), k, name) for k, (name, kind) in enumerate(KINDS.items()) if kind.formula == FRAMES)
    taken = ", ".join(f"{name} {size}" for size, _, name in sizes).replace(" ", " takes ", 1)
    loop = f"a closure of {ends} ({taken}), or " if ends else ""
    return f"{held}; if {lacking} of these freedoms should not be there, add under 'closures' {loop}a coupling of these joints (1 each)"


def _ends(model: pin.Model, loops: Loops, loose: list[str]) -> str:
    """Return the links at the ends of the free chains, which no closure ties yet."""
    members = [frame for c in loops.closures if isinstance(c, Closure) for frame in (c.frame_a, c.frame_b)]
    tied = {model.frames[frame_id(model, frame)].parentJoint for frame in members}
    last = [model.getJointId(name) for name in loose if not len(model.children[model.getJointId(name)])]
    links = [body_name(model, j) for j in last if j not in tied]
    alone = " with the link that it is tied to" if len(links) == 1 else ""
    return " and ".join(repr(link) for link in links) + alone


def _regular(loops: Loops, coordinates: Axes, home: np.ndarray) -> np.ndarray | None:
    """Return closed joint positions (nv,) beside home that the coordinates determine, or with fewer freedoms; None where none is found."""
    if loops.size == 0:
        return None
    rng, fewer, at_home = np.random.default_rng(0), None, rank(loops.evaluate(home[None]).J[0])
    for _ in range(TRIES):
        q = home + BESIDE * rng.uniform(-1, 1, len(home))
        for _ in range(STEPS):
            rows = loops.evaluate(q[None])
            q = q - np.linalg.lstsq(rows.J[0], rows.phi[0], rcond=1e-6)[0]
        rows = loops.evaluate(q[None])
        K = np.concatenate([rows.J[0], coordinates.S])
        if not np.abs(rows.phi).max() < CLOSED:
            continue
        if rank(K) == len(home) and len(home) - rank(rows.J[0]) == len(coordinates.names):
            return q
        if rank(rows.J[0]) > at_home:
            fewer = q
    return fewer


def _example(model: pin.Model, loops: Loops, coordinates: Axes, home: np.ndarray, q: np.ndarray) -> str:
    """Return a home, if a few joints describe it: those that are coordinates, where they lead to a regular pose."""
    joints = list(model.names)[1:]
    named = [name for name in coordinates.names if name in joints]
    start = home.copy()
    for name in named:
        start[joints.index(name)] = round(float(q[joints.index(name)]), 2)
    c = coordinates.S @ start + coordinates.offset
    found = newton(loops, coordinates.S, coordinates.offset, c[None], start[None], steps=100)[0]
    rows = loops.evaluate(found[None])
    full = rank(np.concatenate([rows.J[0], coordinates.S])) == model.nv
    if not named or not full or not np.abs(rows.phi).max() < CLOSED:
        return ""
    return ", such as {" + ", ".join(f"{name}: {start[joints.index(name)]:g}" for name in named) + "}"
