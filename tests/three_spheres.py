"""A Delta in closed form, each arm with lengths of its own."""

import numpy as np


def delta(phi: np.ndarray, out: np.ndarray, up: np.ndarray, arm: np.ndarray, strut: np.ndarray) -> np.ndarray:
    """Centre of an IRB 360's level platform (3,) where three spheres meet: the textbook's solution, lower point."""
    angle = np.radians([0, 120, 240])
    u = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    z = np.array([0, 0, 1.0])
    p = (
        (out - 0.048)[:, None] * u
        + up[:, None] * z
        + arm[:, None] * (np.cos(phi)[:, None] * u - np.sin(phi)[:, None] * z)
    )
    ex = (p[1] - p[0]) / np.linalg.norm(p[1] - p[0])
    i = ex @ (p[2] - p[0])
    ey = p[2] - p[0] - i * ex
    ey /= np.linalg.norm(ey)
    ez, d, j = np.cross(ex, ey), np.linalg.norm(p[1] - p[0]), ey @ (p[2] - p[0])
    x = (strut[0] ** 2 - strut[1] ** 2 + d**2) / (2 * d)
    y = (strut[0] ** 2 - strut[2] ** 2 + i**2 + j**2 - 2 * i * x) / (2 * j)
    h = np.sqrt(strut[0] ** 2 - x**2 - y**2)
    ends = [p[0] + x * ex + y * ey + s * h * ez for s in (-1, 1)]
    return min(ends, key=lambda point: point[2])


def errors_of(x: np.ndarray, place: dict[str, int], turned: dict[str, np.ndarray]) -> np.ndarray:
    """Errors of an IRB 360 that both struts of an arm share, for x (5, 3): encoder, shoulder outwards and upwards, arm and strut lengths.

    Args:
        place: of each error by name. turned: axes (3, 3) of each elbow at zero in those of its arm.
    """
    e = np.zeros(len(place))
    for k in range(3):
        e[place[f"phi{k + 1} offset"]], e[place[f"phi{k + 1} tx"]], e[place[f"phi{k + 1} tz"]] = x[:3, k]
        for side in "ab":
            joint = f"strut_{k + 1}{side}_y"
            along = turned[joint].T @ [x[3, k], 0, 0]  # the arm's direction in the axes of the elbow
            e[place[f"{joint} tx"]], e[place[f"{joint} tz"]] = along[0], along[2]
            e[place[f"ball_{k + 1}{side} a tx"]] = x[4, k]
    return e


def centre(c: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Centres (N, 3) of the platform at coordinates c (N, 3 or more) with such errors."""
    return np.array([delta(one[:3] + x[0], 0.2 + x[1], x[2], 0.5 + x[3], 1.106 + x[4]) for one in c])
