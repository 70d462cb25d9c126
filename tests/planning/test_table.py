"""The look-up table of a planned motion: derivatives, rest, files, and what reads them."""

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.errors import BadFile, BadLog
from robodyn_pin.planning import path_dynamics
from robodyn_pin.planning.path import u_turn
from robodyn_pin.planning.table import cycle_times, motion_at, read_look_up, table_columns, write_motion

CYCLE = 400e-6


class Smooth:
    """s = 10 x^3 - 15 x^4 + 6 x^5, x = t / time: from rest to rest."""

    time = 0.7001

    def at_time(self, t):
        x, law = np.clip(t / self.time, 0, 1), np.poly1d([6.0, -15, 10, 0, 0, 0])
        return tuple(law.deriv(n)(x) / self.time**n if n else law(x) for n in range(4))


@pytest.fixture(scope="module")
def robot():
    return rp.load("irb360").with_coordinates(["x", "y", "z", "psi"])


@pytest.fixture(scope="module")
def path(robot):
    move = np.eye(4)
    start, slide = np.array([0, -0.4, -0.1566, 0]), np.array([True, True, True, False])
    return u_turn(robot.coordinates.names, start, 0.8 * move[1], 0.18 * move[2], 1.57 * move[3], 0.045, slide)


@pytest.fixture(scope="module")
def motion(robot, path):
    return motion_at(robot, path, Smooth(), cycle_times(Smooth.time, CYCLE))


def test_rows_stand_at_the_cycle_and_the_last_one_is_at_rest_behind_the_end(motion):
    np.testing.assert_allclose(np.diff(motion.t), CYCLE, rtol=1e-9)
    assert Smooth.time <= motion.t[-1] < Smooth.time + CYCLE
    assert motion.s[-1].tolist() == [1, 0, 0, 0]
    for x in (motion.cd, motion.cdd, motion.dq, motion.ddq, motion.dddq):
        assert (x[-1] == 0).all()


def test_a_motion_that_ends_on_a_cycle_gets_no_further_row():
    assert len(cycle_times(0.48, CYCLE)) == 1201
    assert len(cycle_times(0.48 + 1e-9, CYCLE)) == 1202


def test_a_motion_of_more_rows_than_a_table_has_is_refused():
    with pytest.raises(BadFile, match=r"takes 1e\+06 s, 2.5e\+09 rows at a cycle of 0.0004 s"):
        cycle_times(1e6, CYCLE)


def test_blocks_of_rows_make_the_same_table(robot, path, motion, monkeypatch):
    monkeypatch.setattr(path_dynamics, "BLOCK", 500)
    again = motion_at(robot, path, Smooth(), motion.t)
    for whole, pieces in zip(table_columns(robot, motion).values(), table_columns(robot, again).values(), strict=True):
        np.testing.assert_allclose(pieces, whole, rtol=1e-6, atol=1e-6)


def test_rates_accelerations_and_jerks_are_derivatives_of_positions(robot, path, motion):
    h, inside = 1e-5, slice(5, -5, 7)
    t = motion.t[inside]
    before, after = (motion_at(robot, path, Smooth(), t + sign * h) for sign in (-1, 1))
    most = {"dq": 18.99, "ddq": 87.27, "dddq": 1745.0}  # limits of the arms
    for low, high in (("q", "dq"), ("dq", "ddq"), ("ddq", "dddq")):
        slope = (getattr(after, low) - getattr(before, low)) / (2 * h)
        missed = np.abs(slope - getattr(motion, high)[inside])
        assert missed.max() <= 1e-6 * most[high] * (30 if high == "dddq" else 1)  # the third is a difference itself
    slope = (after.c - before.c) / (2 * h)
    assert np.abs(slope - motion.cd[inside]).max() <= 1e-6


def test_torques_and_strut_forces_are_those_of_the_motion(robot, motion):
    forces = rp.constraint_forces(robot, motion.c, motion.cd, motion.cdd)
    np.testing.assert_allclose(motion.tau, forces.tau, atol=1e-9)
    np.testing.assert_allclose(motion.struts.lower, np.stack([*forces.struts.values()], axis=1), atol=1e-9)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_table_is_a_log_and_a_look_up(robot, motion, tmp_path, suffix):
    file = tmp_path / f"table.{suffix}"
    write_motion(file, robot, motion, "planned")
    log = rp.read_log(file, robot)
    np.testing.assert_allclose(log.q, motion.q, atol=1e-15)
    np.testing.assert_allclose(log.ddq, motion.ddq, atol=1e-12)
    np.testing.assert_allclose(log.tau, motion.tau, atol=1e-12)
    look_up = rp.read_look_up(str(file))
    assert look_up.names == tuple(table_columns(robot, motion))
    assert look_up.cycle == pytest.approx(CYCLE)
    # The closest row, as it stands in the file: nothing is interpolated.
    assert look_up.at(100.4 * CYCLE)["q_phi1"] == look_up.at(99.6 * CYCLE)["q_phi1"] == motion.q[100, 0]
    assert look_up.at(-1.0)["s"] == 0
    assert look_up.at(9.0)["s"] == 1


def test_a_table_without_a_clock_is_refused(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("t,s\n0,0\n0.1,0.5\n0.3,1\n")
    with pytest.raises(BadLog, match="one cycle, two cycles"):
        read_look_up(file)
    file.write_text("s\n0\n1\n")
    with pytest.raises(BadLog, match="column t"):
        read_look_up(file)
    with pytest.raises(BadLog, match="no such file"):
        read_look_up(tmp_path / "none.csv")
