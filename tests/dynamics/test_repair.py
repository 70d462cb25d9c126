"""Bodies that cannot exist and the nearest that can: the printed table of the IRB 2400, against two other solvers."""

import json

import cvxpy as cp
import numpy as np
import pinocchio as pin
import pytest
from typer.testing import CliRunner

import robodyn_pin as rp
from robodyn_pin.commands.cli import app
from robodyn_pin.dynamics.check import check
from robodyn_pin.dynamics.repair import Repair, random_motion, repair_robot
from robodyn_pin.errors import BadFile
from robodyn_pin.identification.repair import own_units, programme, repaired
from robodyn_pin.robot.robot import Robot, build, load

BROKEN = {"link2", "link3", "link4", "link6"}
THIN = 0.01


@pytest.fixture(scope="module")
def printed() -> Robot:
    return load("irb2400_printed")


def bodies(robot: Robot) -> dict[str, pin.Inertia]:
    return {robot.model.frames[robot.model.getFrameId(name)].name: robot.model.inertias[j] for name, j in joints(robot)}


def joints(robot: Robot) -> list[tuple[str, int]]:
    names = [f"link{k}" for k in range(1, 7)] + ["crank", "rod"]
    return [(name, robot.model.frames[robot.model.getFrameId(name)].parentJoint) for name in names]


def second_moments(body: pin.Inertia) -> np.ndarray:
    """Integral of x x' dm about the centre of mass (3, 3)."""
    return 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia


def test_the_printed_table_has_four_bodies_that_cannot_exist(printed):
    found = check(printed).not_physical
    assert set(found) == BROKEN
    assert "eigenvalue -0.0375" in found["link2"]
    assert "eigenvalue -0.01423" in found["link3"]
    assert "triangle inequality" in found["link4"]
    assert "eigenvalue 0 " in found["link6"]
    impossible = {name for name, body in bodies(printed).items() if np.linalg.eigvalsh(second_moments(body))[0] <= 0}
    assert impossible == BROKEN


def test_repaired_files_hold_bodies_that_can_exist_and_keep_the_others(printed, tmp_path):
    result = CliRunner().invoke(app, ["repair", "irb2400_printed", "--out", str(tmp_path), "--json"])
    summary = json.loads(result.stdout)
    assert {body["body"] for body in summary["repaired"]} == BROKEN
    mended = load(tmp_path / "irb2400_printed_repaired.yaml")
    before, after = bodies(printed), bodies(mended)
    for name, body in after.items():
        size = np.linalg.eigvalsh(second_moments(body))
        assert size[0] > (0 if name not in BROKEN else 0.99 * THIN**2 * size[2])
        assert body.mass == pytest.approx(before[name].mass, rel=1e-12)
        assert np.abs(body.lever - before[name].lever).max() < 1e-12
        if name not in BROKEN:
            assert np.abs(body.inertia - before[name].inertia).max() == 0
    assert check(mended).not_physical == {}
    assert mended.efforts[0].spec == printed.efforts[0].spec
    assert "nearest that can exist" in next(iter(mended.file.sources.values()))
    assert json.loads((tmp_path / "repair.json").read_text()) == summary


def second_opinion(robot: Robot, solver: str) -> dict[str, tuple[np.ndarray, float]]:
    """Euclidean repair stated anew, on matrices instead of parameters, bodies that can exist free to move like the others.

    Pseudo-inertias (4, 4) about the printed centres of mass in units of each body, and that unit of its second moments.
    """
    variables, cost, held = {}, 0, []
    for name, body in bodies(robot).items():
        if body.mass < 1e-3:  # crank and rod weigh nothing: below what a solver sees
            continue
        S = second_moments(body)
        size = np.abs(np.linalg.eigvalsh(S)).max()
        P0 = np.diag([0, 0, 0, 1.0])
        P0[:3, :3] = S / size
        P = cp.Variable((4, 4), PSD=True)
        variables[name] = P, size
        cost += cp.sum_squares(P - P0)
        held.append(P >> THIN**2 * np.eye(4))
    cp.Problem(cp.Minimize(cost), held).solve(solver=solver, **({"eps": 1e-9} if solver == "SCS" else {}))
    return {name: (P.value, size) for name, (P, size) in variables.items()}


def away(mended: Repair, robot: Robot, solver: str) -> dict[str, float]:
    """Largest difference of each body from the second opinion, in units of the body."""
    after = {
        group[0]: pin.Inertia.FromDynamicParameters(x)
        for group, x in zip(mended.groups, mended.found.bodies, strict=True)
    }
    found = {}
    for name, (P, size) in second_opinion(robot, solver).items():
        ours = np.diag([0, 0, 0, 1.0])
        ours[:3, :3] = second_moments(after[name]) / size
        found[name] = float(np.abs(P - ours).max())
    return found


@pytest.mark.parametrize(("solver", "near"), [("CLARABEL", 1e-6), ("SCS", 1e-5)])
def test_euclidean_repair_is_the_optimum_of_a_programme_over_all_bodies(printed, solver, near):
    found = away(repair_robot(printed), printed, solver)
    assert set(found) == {f"link{k}" for k in range(1, 7)}
    assert max(found.values()) < near


def test_torque_repair_is_the_same_with_a_second_solver_and_nearer_in_torques(printed):
    by_torque, by_bodies = repair_robot(printed, "torque"), repair_robot(printed)
    share = [np.linalg.norm(found.change / found.torque) for found in (by_torque, by_bodies)]
    assert share[0] < 0.7 * share[1]
    assert by_torque.found.solver == "CLARABEL"
    rng = np.random.default_rng(1)
    y0 = np.array(
        [
            np.linalg.solve(own_units(x), x)
            for x, why in zip(by_torque.before, by_torque.found.reasons, strict=True)
            if why
        ]
    )
    rows = rng.normal(size=(200, y0.size)) @ np.diag(rng.uniform(0, 1, y0.size))
    ours, theirs = (programme(y0, rows, THIN**2, (solver,))[0] for solver in ("CLARABEL", "SCS"))
    cost = [np.linalg.norm(rows @ (y - y0).ravel()) for y in (ours, theirs)]
    assert cost[0] == pytest.approx(cost[1], rel=1e-5)
    assert np.abs(ours - theirs).max() < 2e-4  # in units of the bodies; SCS stops there


def test_reported_change_is_the_difference_of_both_robots_torques(printed, tmp_path):
    found = repair_robot(printed, seed=3)
    found.write(tmp_path)
    mended = load(tmp_path / "irb2400_printed_repaired.yaml")
    rng = np.random.default_rng(3)
    states = [random_motion(printed, rng) for _ in range(20)]
    S = printed.coordinates.S
    c, cd, cdd = (np.concatenate([x @ S.T for x in xs]) for xs in zip(*((s.q, s.v, s.a) for s in states), strict=True))
    change = rp.inverse_dynamics(mended, c, cd, cdd) - rp.inverse_dynamics(printed, c, cd, cdd)
    assert np.sqrt((change**2).mean(axis=0)) == pytest.approx(found.change, rel=1e-6, abs=1e-9)
    assert np.abs(change).max(axis=0) == pytest.approx(found.largest, rel=1e-6, abs=1e-9)


def test_random_motions_keep_the_limits(printed):
    rng = np.random.default_rng(4)
    for _ in range(10):
        state = random_motion(printed, rng)
        c, cd = state.q @ printed.motors.S.T, state.v @ printed.motors.S.T
        for k, name in enumerate(printed.motors.names):
            low, high = printed.file.limits[name].position
            assert low < c[:, k].min() < c[:, k].max() < high
            assert np.abs(cd[:, k]).max() < printed.file.limits[name].velocity


def test_a_body_without_mass_is_repaired_about_its_joint():
    x = np.array([-1.0, 0.1, 0, 0, 0.02, 0, 0.02, 0, 0, 0.01])
    found = repaired(x[None])
    assert "mass is -1 kg" in found.reasons[0]
    assert pin.Inertia.FromDynamicParameters(found.bodies[0]).mass > 0
    assert np.linalg.eigvalsh(pin.PseudoInertia.FromDynamicParameters(found.bodies[0]).toMatrix())[0] > 0


def test_nothing_is_written_where_every_body_can_exist(tmp_path):
    result = CliRunner().invoke(app, ["repair", "irb2400", "--out", str(tmp_path / "none")])
    assert result.exit_code == 0
    assert "nothing to repair, nothing written" in result.stdout
    assert not (tmp_path / "none").exists()


def test_identical_bodies_that_are_not_are_refused():
    robot = load("delta3")
    text = robot.urdf_xml.replace('<mass value="', '<mass value="1', 1)
    file = robot.file.model_copy(update={"identical": [["arm_1", "arm_2", "arm_3"]]})
    odd = build("delta3", file, text, robot.urdf_path)
    with pytest.raises(BadFile, match="identical by the robot file, not by the URDF"):
        repair_robot(odd)
