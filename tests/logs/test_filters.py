"""How far a filter's transients reach, against Butterworth's poles."""

import warnings

import numpy as np
import pytest

from robodyn_pin.logs.filters import Lowpass


@pytest.mark.parametrize("order", [4, 10])
def test_a_very_slow_filter_reaches_as_far_as_its_slowest_pole_and_writes_no_stray_lines(order):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reach = Lowpass(order=order, cutoff=0.01).reach(100.0, "log")
    slowest = 2 * np.pi * 0.01 / 100 * np.sin(np.pi / (2 * order))  # real part of the poles next to the imaginary axis
    assert reach == pytest.approx(np.log(1e9) / slowest, rel=1e-3)
