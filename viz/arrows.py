"""Meshes of rods and arrows, straight or curved about an axis, of unit length so that a film can scale them."""

import meshcat.geometry as g
import numpy as np

AROUND = 20  # corners of a cross-section
HEAD = 0.35  # of an arrow's length
TURN = 1.5 * np.pi  # of a curved arrow at its limit [rad]
STEPS = 90  # of its shaft
THICK = 0.1  # radius of its shaft over its own
X, Y, Z = np.eye(3)


def rod() -> g.TriangularMeshGeometry:
    """A rod from the origin along z, with radius 1."""
    return _swept(np.outer([0, 0, 1, 1], Z), np.tile(X, (4, 1)), Y, np.array([0.0, 1, 1, 0]))


def straight_arrow() -> g.TriangularMeshGeometry:
    """An arrow from the origin along z, with a shaft of radius 1."""
    z = [0, 0, 1 - HEAD, 1 - HEAD, 1]
    return _swept(np.outer(z, Z), np.tile(X, (5, 1)), Y, np.array([0, 1, 1, 2.2, 0]))


def arc() -> g.TriangularMeshGeometry:
    """Three quarters of a circle of radius 1, turning positively about z from x; its first triangles come first."""
    angle = np.linspace(0, TURN, STEPS + 1)
    out = np.outer(np.cos(angle), X) + np.outer(np.sin(angle), Y)
    return _swept(out, out, -Z, np.full(len(out), THICK))


def arc_head() -> g.TriangularMeshGeometry:
    """Head of a curved arrow that ends at the origin, its tip ahead along y."""
    path = np.outer([0, 0, 4 * THICK], Y)
    return _swept(path, np.tile(X, (3, 1)), -Z, THICK * np.array([0, 2.4, 0]))


def _swept(path: np.ndarray, out: np.ndarray, side: np.ndarray, radius: np.ndarray) -> g.TriangularMeshGeometry:
    """A tube of radius (n,) around path (n, 3); its cross-sections lie in the planes of out (n, 3) and side, out x side ahead."""
    turn = np.linspace(0, 2 * np.pi, AROUND, endpoint=False)[:, None]
    ring = np.cos(turn) * out[:, None] + np.sin(turn) * side
    vertices = (path[:, None] + radius[:, None, None] * ring).reshape(-1, 3)
    corner = np.arange(AROUND * (len(path) - 1))
    beside = corner - corner % AROUND + (corner + 1) % AROUND
    first = np.stack([corner, beside, beside + AROUND], 1)
    second = np.stack([corner, beside + AROUND, corner + AROUND], 1)
    return g.TriangularMeshGeometry(vertices, np.hstack([first, second]).reshape(-1, 3))
