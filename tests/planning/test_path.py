"""Paths: geometry against closed forms, and every kind of bad path."""

import numpy as np
import pytest

from robodyn_pin.errors import BadPath
from robodyn_pin.planning.path import Path, control, lines, through, u_turn

XYZ, SLIDE = ("x", "y", "z"), np.ones(3, bool)
CORNERS = np.array([[0.0, -0.4, 0.0], [0, -0.4, 0.18], [0, 0.4, 0.18], [0, 0.4, 0.0]])


def every_kind() -> dict[str, Path]:
    move = np.eye(4)
    names, slide = (*XYZ, "psi"), np.array([True, True, True, False])
    return {
        "lines": lines(XYZ, CORNERS, SLIDE, 0.08),
        "through": through(XYZ, CORNERS, SLIDE),
        "control": control(XYZ, np.random.default_rng(1).normal(size=(9, 3)), SLIDE),
        "u turn": u_turn(names, np.zeros(4), 0.8 * move[1], 0.18 * move[2], np.pi / 2 * move[3], 0.045, slide),
    }


@pytest.mark.parametrize("kind", every_kind())
def test_derivatives_are_those_of_central_differences(kind):
    path, h = every_kind()[kind], 1e-4
    s = np.linspace(0.003, 0.997, 173)
    at, before, after = path.at(s), path.at(s - h), path.at(s + h)
    for low, high in (("c", "c1"), ("c1", "c2"), ("c2", "c3")):
        slope = (getattr(after, low) - getattr(before, low)) / (2 * h)
        exact = getattr(at, high)
        # The fourth derivative of corners jumps: one step beside a jump errs by h times it.
        assert np.abs(slope - exact).max() <= 2e-2 * np.abs(exact).max()
        assert np.median(np.abs(slope - exact)) <= 1e-4 * np.abs(exact).max()


def test_a_rounded_corner_leaves_the_lines_where_stated_and_misses_the_corner_by_the_closed_form():
    r, path = 0.08, lines(XYZ, CORNERS, SLIDE, 0.08)
    c = path.at(np.linspace(0, 1, 20001)).c
    z_of_upright = c[np.abs(c[:, 1] + 0.4) < 1e-12, 2]
    # It leaves the line with the fourth power of the way: by 1e-12 m after some tenths of a millimetre.
    assert z_of_upright.max() == pytest.approx(0.18 - r, abs=4e-4)
    assert c[np.abs(c[:, 2] - 0.18) < 1e-12, 1].min() == pytest.approx(-0.4 + r, abs=4e-4)
    nearest = np.linalg.norm(c - CORNERS[1], axis=1).min()
    assert nearest == pytest.approx(5 / 16 * r * np.sqrt(2) / 2, rel=1e-5)


def test_lines_without_corners_are_straight_and_as_long_as_they_are():
    path = lines(XYZ, np.array([[0, 0, 0], [0, 0.5, 0], [0, 0.8, 0.0]]), SLIDE, 0.0)
    at = path.at(np.linspace(0, 1, 11))
    np.testing.assert_allclose(at.c[:, 1], np.linspace(0, 0.8, 11), atol=1e-15)
    np.testing.assert_allclose(at.c2, 0, atol=1e-12)
    assert path.length == pytest.approx(0.8, rel=1e-12)


def test_splines_go_through_their_points_and_a_long_one_is_a_circle():
    points = np.random.default_rng(2).normal(size=(9, 3))
    path = through(XYZ, points, SLIDE)
    nearest = np.linalg.norm(path.at(np.linspace(0, 1, 40001)).c[:, None] - points, axis=2).min(axis=0)
    assert nearest.max() < 1e-3  # half a grid step
    angle = np.linspace(0, 2 * np.pi, 41)
    circle = through(("x", "y"), np.stack([np.cos(angle), np.sin(angle)], axis=1), np.ones(2, bool))
    assert circle.length == pytest.approx(2 * np.pi, rel=1e-6)


def test_the_u_turn_begins_and_ends_below_and_turns_the_tool():
    path = every_kind()["u turn"]
    ends = path.at(np.array([0.0, 0.5, 1.0])).c
    np.testing.assert_allclose(ends[0], [0, 0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(ends[1], [0, 0.4, 0.18, np.pi / 4], atol=1e-12)
    np.testing.assert_allclose(ends[2], [0, 0.8, 0, np.pi / 2], atol=1e-12)
    sharp = 2 * 0.18 + 0.8
    assert 0.9 * sharp < path.length < sharp


def test_joints_are_measured_in_radians():
    path = lines(("j1", "j2"), np.array([[0, 0], [3, 4.0]]), np.zeros(2, bool), 0.0)
    assert path.length == pytest.approx(5.0, rel=1e-12)


UP_DOWN = np.array([[0, 0, 0], [0, 0, 1.0], [0, 0, 0.2]])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: lines(XYZ, CORNERS[[0, 1, 1, 2]], SLIDE, 0.05), "points 2 and 3 of the path are the same"),
        (lambda: control(XYZ, CORNERS, SLIDE), "4 points: such a curve needs at least 6"),
        (lambda: lines(XYZ, CORNERS[:1], SLIDE, 0.1), "1 points"),
        (lambda: lines(XYZ, CORNERS, SLIDE, 0.0), r"kink at point 2 \(turns by 90 degrees\)"),
        (lambda: lines(XYZ, CORNERS, SLIDE, [0.1, 0.0]), "kink at point 3"),
        (lambda: lines(XYZ, CORNERS, SLIDE, 0.2), "points 1 and 2 take 0.2 of the 0.18"),
        (lambda: lines(XYZ, CORNERS, SLIDE, [0.1, 0.1, 0.1]), "3 radii for 2 corners"),
        (lambda: lines(XYZ, UP_DOWN, SLIDE, 0.1), "turns back on itself at point 2"),
        (lambda: through(XYZ, UP_DOWN, SLIDE), "kink at s = 0"),
        (lambda: lines(XYZ, np.full((3, 3), np.nan), SLIDE, 0.1), "point 1 of the path is not finite"),
        (lambda: lines(XYZ, np.zeros((3, 2)), SLIDE, 0.1), r"shape \(3, 2\), expected \(n, 3\)"),
    ],
)
def test_bad_paths_are_told_in_one_sentence(make, says):
    with pytest.raises(BadPath, match=says):
        make()
