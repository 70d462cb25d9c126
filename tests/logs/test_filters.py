"""Filters against SciPy, and how far their transients reach, against Butterworth's poles."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.signal import butter, periodogram, sosfiltfilt, sosfreqz

from robodyn_pin.closures.kernel_choice import forced
from robodyn_pin.identification.whiteness import residual_spectrum
from robodyn_pin.logs.filters import Lowpass


@pytest.mark.parametrize("order", [4, 10])
def test_a_very_slow_filter_reaches_as_far_as_its_slowest_pole_and_writes_no_stray_lines(order):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reach = Lowpass(order=order, cutoff=0.01).reach(100.0, "log")
    slowest = 2 * np.pi * 0.01 / 100 * np.sin(np.pi / (2 * order))  # real part of the poles next to the imaginary axis
    assert reach == pytest.approx(np.log(1e9) / slowest, rel=1e-3)


@pytest.mark.parametrize("path", ["kernel", "pinocchio"])
@pytest.mark.parametrize("order", range(1, 11))
@pytest.mark.parametrize("cutoff", [10.0, 300.0, 499.0])
def test_filters_do_what_scipy_does(path, order, cutoff):
    x = np.cumsum(np.random.default_rng(order).normal(size=(2000, 2, 3)), axis=0)
    lowpass, sections = Lowpass(order=order, cutoff=cutoff), butter(order, cutoff, fs=1000.0, output="sos")
    padding = 3 * (2 * len(sections) + 1)
    with forced(path):
        found = lowpass.apply(x, 1000.0, "log")
    own = sosfiltfilt(lowpass.sections(1000.0, "log"), x, axis=0, padlen=padding)
    np.testing.assert_array_equal(found, own)
    # Their sections of an odd order are other ones, with the same product: round-off, most where poles are near -1.
    expected = sosfiltfilt(sections, x, axis=0, padlen=padding)
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(x).max())
    frequency = np.linspace(0, 3, 7)
    np.testing.assert_allclose(
        lowpass.response(frequency, 1000.0, "log"),
        np.abs(sosfreqz(sections, frequency)[1]) ** 2,
        rtol=1e-9,
        atol=1e-300,
    )


FILTER = """
import numpy as np
from robodyn_pin.closures.kernel_choice import chosen
from robodyn_pin.logs.filters import Lowpass
Lowpass(order=4, cutoff=10.0).apply(np.zeros((100, 1)), 100.0, "log")
print(chosen(1))
"""


def test_a_filter_does_not_load_the_kernels_of_loops_for_a_single_sample():
    done = subprocess.run([sys.executable, "-P", "-c", FILTER], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


@pytest.mark.parametrize("samples", [999, 1000])
def test_spectra_of_residuals_are_periodograms(samples):
    x = np.random.default_rng(0).normal(size=(samples, 2)) + 5.0
    frequency, density = periodogram(x, 250.0, window="hann", axis=0)
    found = residual_spectrum(x, 250.0)
    np.testing.assert_allclose(found[0], frequency[1:], rtol=1e-12)
    np.testing.assert_allclose(found[1], density[1:], rtol=1e-9)
