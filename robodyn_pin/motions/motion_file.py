"""A motion file read, and the motion that it describes."""

import re
from pathlib import Path

import numpy as np

from robodyn_pin.files import parse_yaml, read_text
from robodyn_pin.motions.fourier import FourierMotion, fourier
from robodyn_pin.motions.steps import StepMotion, stepped
from robodyn_pin.motions.sweeps import SweepMotion, swept

Motion = FourierMotion | StepMotion | SweepMotion


def read_motion(path: Path) -> Motion:
    """A motion file: Fourier series, steps where it says `poses:` or `speeds:`, sweeps where it says `sweeps:`.

    Raises:
        BadFile: not there, not YAML, or a key that is unknown, missing or of the wrong kind.
    """
    text = read_text(path)
    if re.search(r"(?m)^sweeps\s*:", text):
        return parse_yaml(text, SweepMotion, str(path))
    in_steps = re.search(r"(?m)^(poses|speeds|hold)\s*:", text)
    return parse_yaml(text, StepMotion, str(path)) if in_steps else parse_yaml(text, FourierMotion, str(path))


def course(motion: Motion, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Time (N,) and coordinates, rates, accelerations (N, d) of any motion, at its rate.

    Raises:
        UnknownName: a coordinate that is not there. BadFile: a Fourier series without a centre.
    """
    match motion:
        case FourierMotion():
            return fourier(motion, names)
        case StepMotion():
            return stepped(motion, names)
        case SweepMotion():
            return swept(motion, names)
