"""The IRB 2400 and 6660: kinematics against their own tables, the printed equations and bodies, and a controller's stream."""

import threading
import time

import numpy as np
from make import Row, Section
from mdh import ARMS, allowed, equation_33, flange
from test_irb2400 import LINKAGES, LINKS, lagrange, newton_euler
from test_printed_equations import errors, wrong
from test_repair import away, second_moments
from workspaces import WORKSPACES

import robodyn_pin as rp
from robodyn_pin.dynamics.check import check
from robodyn_pin.dynamics.repair import repair_robot
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.units import Units
from robodyn_pin.recording.player import Faults, Sent, datagrams, send
from robodyn_pin.recording.recorder import Recording, listen, record
from robodyn_pin.robot.robot import build, load

POSES = 3000  # of each robot, over the whole ranges of its motors
STATES = 200


def study() -> Section:
    rows = [*kinematics(), *torques(), *printed_equations(), *printed_bodies(), *streams()]
    note = (
        "References share no code with the package: tables of modified Denavit-Hartenberg parameters, Lagrange and Newton-Euler by "
        "hand, a semidefinite programme stated anew. The controller's stream is simulated."
    )
    return Section(
        "IRB 2400 and IRB 6660: kinematics, printed tables, EGM", "python figures/make.py arms", tuple(rows), note
    )


def kinematics() -> list[Row]:
    forward, jacobian, again, missed, every, seconds = [], [], [], [], [], []
    for (name, frame), (table, tool) in ARMS.items():
        robot = load(name)
        c = allowed(robot, np.random.default_rng(1), POSES)
        poses = np.array([flange(table, q) @ tool for q in c])
        forward.append(np.abs(rp.forward_kinematics(robot, c, frame) - poses).max())
        expected = np.array([equation_33(table, q, pose[:3, 3]) for q, pose in zip(c, poses, strict=True)])
        jacobian.append(np.abs(rp.frame_jacobian(robot, c, frame) - expected).max())
        begin = time.perf_counter()
        found = rp.inverse_kinematics(robot, poses, frame)
        seconds.append((time.perf_counter() - begin) / len(c))
        there = ~np.isnan(found.c[..., 0])
        every.append(there.sum() / len(c))
        for pose, branches in zip(poses, found.c, strict=True):
            placed = [flange(table, q) @ tool for q in branches[~np.isnan(branches[:, 0])]]
            again.append(np.abs(np.array(placed) - pose).max())
        missed += [np.abs(found.solutions(i) - c[i]).max(axis=1).min() for i in range(0, len(c), 10)]
    n = POSES * len(ARMS)
    return [
        Row(
            f"forward kinematics, {n} poses of {len(ARMS)} frames", "1e-12", f"{max(forward):.1e}", max(forward) < 1e-12
        ),
        Row(
            "Jacobian with parallelogram against equation (33)", "1e-12", f"{max(jacobian):.1e}", max(jacobian) < 1e-12
        ),
        Row("inverse kinematics, all branches put the frame back", "1e-10", f"{max(again):.1e}", max(again) < 1e-10),
        Row(
            "the motors' own angles among the answers within limits", "1e-10", f"{max(missed):.1e}", max(missed) < 1e-10
        ),
        Row(
            "branches that exist of a pose, mean; time of a pose",
            "",
            f"{np.mean(every):.1f}; {1e6 * max(seconds):.0f} us",
        ),
    ]


def torques() -> list[Row]:
    worst = []
    for name, linkage in LINKAGES.items():
        catalogue = load(name)
        file = catalogue.file.model_copy(update={"efforts": []})
        robot, rng = build(name, file, catalogue.urdf_xml, catalogue.urdf_path), np.random.default_rng(2)
        c = WORKSPACES[name](rng, STATES).c
        cd, cdd = 2 * rng.normal(size=c.shape), 10 * rng.normal(size=c.shape)
        tau = rp.inverse_dynamics(robot, c, cd, cdd)
        for derivation in (lagrange, newton_euler):
            second = np.array([derivation([*LINKS, *linkage], *x) for x in zip(c, cd, cdd, strict=True)])
            worst.append((np.abs(second - tau) / np.abs(tau).max(axis=0)).max())
    return [Row("torques against Lagrange and Newton-Euler", "1e-8 relative", f"{max(worst):.1e}", max(worst) < 1e-8)]


def printed_equations() -> list[Row]:
    found, mended = wrong(mended=False), max(errors(True, 1000).values())
    names = ", ".join(f"({k})" for k in sorted(found))
    return [
        Row("closed forms (15) to (26), printed", "wrong ones named", f"wrong: {names}", found == {19, 22, 25, 26}),
        Row("the same, mended", "exact", f"{mended:.1e}", mended < 1e-13),
    ]


def printed_bodies() -> list[Row]:
    robot = load("irb2400_printed")
    flagged = sorted(check(robot).not_physical)
    mended = repair_robot(robot)
    after = {group[0]: x for group, x in zip(mended.groups, mended.found.bodies, strict=True)}
    before = {group[0]: x for group, x in zip(mended.groups, mended.before, strict=True)}
    kept = max(np.abs(after[name] - before[name]).max() for name in ("link1", "link5"))
    left = [group[0] for group, why in zip(mended.groups, repair_reasons(mended), strict=True) if why]
    solvers = {solver: away(mended, robot, solver) for solver in ("CLARABEL", "SCS")}
    free = max(solvers["CLARABEL"][name] for name in ("link1", "link5"))
    share = 100 * mended.change / mended.torque
    by_torque = repair_robot(robot, "torque")
    worst = {solver: max(found.values()) for solver, found in solvers.items()}
    change = ", ".join(f"{d:.2g} of {tau:.3g}" for d, tau in zip(mended.change, mended.torque, strict=True))
    less = ", ".join(f"{d:.2g}" for d in by_torque.change)
    return [
        Row("bodies flagged in the printed table", "links 2, 3, 4, 6 only", ", ".join(flagged), flagged == ["link2", "link3", "link4", "link6"]),
        Row("bodies that cannot exist after the repair", "none", ", ".join(left) or "none", not left),
        Row("links 1 and 5, change", "1e-6", f"{kept:.0e}; {free:.0e} where a solver may move them", kept < 1e-6 and free < 1e-6),
        Row("optimum against a second solver, all bodies free, in their own units", "checked",
            f"Clarabel {worst['CLARABEL']:.0e}, SCS {worst['SCS']:.0e}", worst["CLARABEL"] < 1e-6),
        Row("change of torque, rms over random motions, m1 to m6 [N m]", "reported", f"{change} ({share[:3].max():.1f} % of m1 to m3 at most)"),
        Row("the same by the metric torque", "reported", less),
    ]  # fmt: skip


def repair_reasons(mended) -> list[bool]:
    """Whether each repaired body is none, by its second moments."""
    from pinocchio import Inertia

    return [np.linalg.eigvalsh(second_moments(Inertia.FromDynamicParameters(x)))[0] <= 0 for x in mended.found.bodies]


def streams() -> list[Row]:
    t = np.arange(2500) / 250
    q = np.sin(t[:, None] * np.arange(1, 7) / 3)
    log = Log("made", t, q, 100 * np.cos(q), simulated=True)
    clean, _ = over_the_wire(log, Faults())
    poor, sent = over_the_wire(log, Faults(0.01, 0.01, 0.01, 0.02, seed=1))
    whole = clean.log(Units(angle="deg"), "log")
    exact = len(whole.t) == 2500 and np.abs(whole.q - q).max() < 1e-12
    missing = sum(count for _, count in poor.gaps)
    reported = missing, poor.repeated, poor.reordered, sum(poor.rejected.values())
    made = len(sent.dropped), len(sent.repeated), len(sent.reordered), sent.garbage
    text = [f"dropped {a}, repeated {b}, reordered {c}, garbage {d}" for a, b, c, d in (made, reported)]
    return [
        Row(
            "EGM at 250 Hz for 10 s, real time",
            "every packet in the log",
            f"{len(clean.packets)} of 2500, {len(clean.gaps)} gaps",
            exact,
        ),
        Row("EGM with faults", f"sent: {text[0]}", f"reported: {text[1]}", made == reported),
    ]


def over_the_wire(log: Log, faults: Faults) -> tuple[Recording, Sent]:
    sending, sent = datagrams(log, Units(angle="deg"), faults)
    with listen(0, "127.0.0.1") as listener:
        sender = threading.Thread(target=lambda: list(send(sending, listener.getsockname())))
        sender.start()
        found = record(listener, 6, 60.0)
        sender.join()
    return found, sent
