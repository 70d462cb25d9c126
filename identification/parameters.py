"""The parameter vector: ten numbers a body in Pinocchio's order, then friction and the like; and its pseudo-inertias."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

INERTIAL = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


@dataclass(frozen=True)
class Layout:
    """What the entries of a parameter vector pi (p,) stand for."""

    bodies: tuple[str, ...]
    scalars: tuple[str, ...] = ()
    nonnegative: tuple[bool, ...] = ()  # per scalar
    copies: tuple[tuple[int, ...], ...] = ()  # bodies of one design that have parameters of their own, by number

    @property
    def labels(self) -> list[str]:
        """`m(arm_1)`, ..., `viscous(phi1)`."""
        return [f"{name}({body})" for body in self.bodies for name in INERTIAL] + list(self.scalars)

    @property
    def size(self) -> int:
        return 10 * len(self.bodies) + len(self.scalars)

    @property
    def first_scalar(self) -> int:
        return 10 * len(self.bodies)

    @property
    def order(self) -> np.ndarray | None:
        """Order (p,) in which base columns are looked for, so that copies keep the same ones; None without copies.

        Bodies without copies, then each entry of all copies side by side, then scalars kind by kind.

        Source: Briot et al. (DualV), eq. (43).
        """
        if not self.copies:
            return None
        copied = {i for group in self.copies for i in group}
        alone = [10 * i + k for i in range(len(self.bodies)) if i not in copied for k in range(10)]
        side_by_side = [10 * i + k for group in self.copies for k in range(10) for i in group]
        kinds = [label.partition("(")[0] for label in self.scalars]
        scalars = sorted(range(len(kinds)), key=lambda j: kinds.index(kinds[j]))
        return np.array([*alone, *side_by_side, *(self.first_scalar + j for j in scalars)])


# E (16, 10) with vec(P) = E x, taken from Pinocchio by linearity. P = [[Sigma, h], [h', m]] (Wensing et al. 2018).
PSEUDO_INERTIA = np.stack(
    [pin.PseudoInertia.FromDynamicParameters(unit).toMatrix().ravel() for unit in np.eye(10)], axis=1
)


def pseudo_inertia(x: np.ndarray) -> np.ndarray:
    """Pseudo-inertias (..., 4, 4) of bodies x (..., 10) [kg, kg m, kg m^2 about the joint frame]."""
    return (x @ PSEUDO_INERTIA.T).reshape(*x.shape[:-1], 4, 4)


def unit_scale(mass: float, length: float) -> np.ndarray:
    """Factors (10,) that turn a body in units of `mass` [kg] and `length` [m] into SI."""
    return mass * np.array([1.0, *[length] * 3, *[length**2] * 6])


LENGTH = 0.1  # [m] with 1 kg the units of the fit: bodies of robots are then of size one
UNIT = unit_scale(1.0, LENGTH)


def smallest_eigenvalues(x: np.ndarray) -> np.ndarray:
    """Smallest eigenvalue of each body's pseudo-inertia, in units of 1 kg and 0.1 m; x (n, 10) in SI. Shape (n,)."""
    return np.linalg.eigvalsh(pseudo_inertia(x / UNIT))[:, 0]


def why_not_physical(x: np.ndarray) -> str | None:
    """Why no rigid body has the parameters x (10,) [SI, about the joint frame], or None where one can."""
    if x[0] <= 0:
        return f"its mass is {x[0]:.4g} kg"
    body = pin.Inertia.FromDynamicParameters(x)
    smallest = np.linalg.eigvalsh(body.inertia)
    if smallest[0] <= 0:
        return f"its inertia about the centre of mass has the eigenvalue {smallest[0]:.4g} kg m^2; all must be positive"
    if smallest[0] + smallest[1] <= smallest[2]:
        return (
            f"its principal inertias {smallest[0]:.4g}, {smallest[1]:.4g}, {smallest[2]:.4g} kg m^2 break the triangle "
            "inequality: the two smaller must add to more than the largest"
        )
    if np.linalg.eigvalsh(pseudo_inertia(x))[0] <= 0:
        return "its pseudo-inertia is not positive definite"
    return None
