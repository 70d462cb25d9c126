"""What the residuals still hold: a model that explains everything leaves white noise."""

import numpy as np
from scipy.special import chdtrc

LAGS = 20


def ljung_box(x: np.ndarray) -> np.ndarray:
    """Probability (d,) of autocorrelations at least as large in white noise; x (N, d). Fewer lags where rows are few.

    Source: Ljung & Box, Biometrika 65(2), 1978.
    """
    n = len(x)
    lags = min(LAGS, n - 1)
    x = x - x.mean(axis=0)
    power = np.maximum(np.sum(x**2, axis=0), 1e-300)
    r = np.array([np.sum(x[k:] * x[:-k], axis=0) for k in range(1, lags + 1)]) / power
    return chdtrc(lags, n * (n + 2) * np.sum(r**2 / (n - np.arange(1, lags + 1))[:, None], axis=0))


def residual_spectrum(x: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies (k,) [Hz] and one-sided power densities (k, d) [unit^2/Hz] of x (N, d): one periodogram."""
    n = len(x)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)  # von Hann's
    density = np.abs(np.fft.rfft((x - x.mean(axis=0)) * window[:, None], axis=0)) ** 2 / (rate * (window**2).sum())
    density[1 : (n + 1) // 2] *= 2.0  # the negative frequencies; half the rate has none
    return np.fft.rfftfreq(n, 1 / rate)[1:], density[1:]


def widening(x: np.ndarray, rate: float, motion: float, passed: float) -> np.ndarray:
    """By how much residuals x (N, d) widen the parameters' deviations (d,): one if they are white where rows are fitted.

    Deviations count on the mean density up to `passed`; what matters is the one where the motion is.

    Args:
        motion: [Hz] the motion's band. passed: [Hz] what the rows' filter lets through, at most half the rate.
    """
    frequency, density = residual_spectrum(x, rate)
    inside = density[frequency <= max(motion, frequency[min(9, len(frequency) - 1)])].mean(axis=0)
    return np.sqrt(inside / np.maximum(density[frequency <= passed].mean(axis=0), 1e-300))
