"""The verdict on a result: whether it can be used, for which motions, and with which cautions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from robodyn_pin.identification.accuracy import Accuracy
from robodyn_pin.identification.essential import relative_deviations
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.validation import Errors
from robodyn_pin.robot.units import POSITION_UNITS

if TYPE_CHECKING:
    from robodyn_pin.log_to_robot.diagnosis import Diagnosis


@dataclass(frozen=True)
class Scored:
    """Errors of one estimate."""

    fit: Errors
    held_out: Errors
    moving: Errors  # held-out samples whose coordinate moves
    still: Errors  # held-out samples whose coordinate stands still
    whole: Errors  # held-out samples, torques at full bandwidth; as held_out where none are filtered


MOST_WORSE = 1.5  # held-out error over fit error from which a result is refused
LITTLE_OF_IT = 0.25  # share of what is worse that parts of the fit data show: less is no over-fitting
MEASURES = {"mean": "mean over the coordinates", "pooled": "all torques in one norm"}
MOST_UNEXPLAINED = 60.0  # [%] of the torque norm, mean over motors
ENOUGH = (
    15  # independent values per parameter; regressions with fewer do not hold on other data (Harrell 2015, section 4.4)
)
UNKNOWN = 1.0  # relative standard deviation from which a parameter's sign is not even known
NEARLY_CONSTANT = (
    0.1  # error over the torque's rms below which a torque that is not explained is hardly more than its mean
)
CONTRARY = "the held-out data contradict the fit data"
COLOURED = 1.5  # factor on standard deviations by coloured residuals from which a caution is given


@dataclass(frozen=True)
class Verdict:
    """Whether the result can be used, and why or why not."""

    accepted: bool
    reasons: tuple[str, ...]
    scope: str = ""  # motions for which it holds
    cautions: tuple[str, ...] = ()  # given whether it is accepted or not
    friction: str = ""  # where richer friction is worth it, and where the log cannot tell; empty where none was chosen
    gravity: str = ""  # whether a lean of the base is worth it; empty where none was chosen

    @property
    def chosen(self) -> tuple[str, ...]:
        """Sentences on what was chosen by cross-validation."""
        return tuple(filter(None, (self.friction, self.gravity)))


@dataclass(frozen=True)
class Coordinates:
    """Names and units by which a verdict speaks of the coordinates."""

    names: Sequence[str]
    units: Sequence[str]  # of the efforts along them
    still: Collection[str] = ()  # those that do not move in the logs


@dataclass(frozen=True)
class Remarks:
    """Sentences on logs and settings that a verdict takes into account; empty where there is nothing to say."""

    noticed: Sequence[str] = ()  # cautions
    rates: str = ""  # other rates explain the torques clearly better
    friction: str = ""  # on its choice
    gravity: str = ""  # on its choice
    contradiction: str = ""  # fit logs do not agree
    mistaken: Sequence[str] = ()  # held-out logs and the mistakes that they alone look like having


def judge(
    scored: "Scored",
    measure: str,
    wls: BaseEstimate,
    found: "Diagnosis",
    labels: Sequence[str],
    coordinates: Coordinates,
    held_out: Accuracy,
    remarks: Remarks = Remarks(),
) -> Verdict:
    """Accept a result that has enough data, whose error is about the same on unseen data, and that explains every torque.

    A torque is not explained if the held-out error is not smaller than the torque's standard deviation. This is only a
    caution if the coordinate stands still, or if the torque is nearly constant and the model gives its mean.

    Args:
        labels: of the base parameters. held_out: accuracy of the held-out torques.
    """
    reasons = [remarks.contradiction] if remarks.contradiction else []
    not_explained, minor = unexplained(held_out, coordinates)
    # Torque against torque: in percent a weaker held-out motion would look like over-fitting.
    ratio = ratio_of(scored.held_out.rmse, scored.fit.rmse)
    unseen, each = scored.held_out.by(measure), found.rows / max(wls.base.size, 1)
    unknown = np.flatnonzero(relative_deviations(wls) > UNKNOWN)
    if ratio > MOST_WORSE:
        reasons.append(worse_on_others(ratio, found.unseen, remarks.mistaken))
    elif remarks.mistaken:
        minor.append(f"{CONTRARY}: {'; '.join(remarks.mistaken)}")
    if each < ENOUGH:
        reasons.append(
            f"over-fitted: {found.seconds:.3g} s of log give {each:.3g} independent values for each of {wls.base.size} base "
            f"parameters, and results from fewer than {ENOUGH} do not hold on other data; {len(unknown)} of the parameters are smaller "
            "than their standard deviation; give a longer log"
        )
    if unseen > MOST_UNEXPLAINED:
        reasons.append(f"the model leaves {unseen:.3g} % of the held-out torque unexplained")
    reasons += not_explained
    if mistakes := [m.text for m in found.mistakes if m.of_log]:
        signs = found.signs(coordinates.names)
        reasons.append("; or ".join(mistakes) + (f"; signs of it: {signs}" if signs else ""))
    elif found.outliers and reasons:
        reasons.append(found.outliers)
    elif remarks.rates and reasons:
        reasons.append(remarks.rates)
    elif (
        not found.mistakes
        and (ratio <= MOST_WORSE or scored.fit.by(measure) > MOST_UNEXPLAINED)
        and (not_explained or unseen > MOST_UNEXPLAINED)
    ):
        reasons.append(
            "none of the usual mistakes of columns, signs and units explains it: check the lengths and axes in the robot file, its "
            "friction, and whether the log is of this robot"
        )
    minor += [m.text for m in found.mistakes if not m.of_log]
    if found.outliers and found.outliers not in reasons:
        minor.append(found.outliers)
    accepted = not reasons
    if accepted:
        reasons = [
            f"the error on held-out data is {unseen:.3g} % (rms error over rms torque, {MEASURES[measure]}), {ratio:.2f} times that on the fit data",
            "every body can exist: its pseudo-inertia is positive definite and its mass within its bounds; no friction is negative",
        ]
    causes = [remarks.contradiction, *(m.said for m in found.mistakes)]
    told = [text for text in remarks.noticed if not any(text in cause for cause in causes)]
    cautions = (*minor, *told, *_cautions(wls, found, labels, coordinates.names, unknown))
    return Verdict(accepted, tuple(reasons), _scope(found, coordinates), cautions, remarks.friction, remarks.gravity)


def ratio_of(error: np.ndarray, usual: np.ndarray) -> float:
    """How many times as large errors (d,) are as the usual ones (d,), mean over the coordinates."""
    return float(np.mean(error / np.maximum(usual, 1e-12)))


def worse_on_others(ratio: float, unseen: float, mistaken: Sequence[str] = ()) -> str:
    """Why the error on held-out data is `ratio` times that on the fit data.

    Args:
        unseen: the same of parts of the fit data which a fit has not seen. mistaken: as of `Remarks`.
    """
    worse = f"the error on held-out data is {ratio:.3g} times that on the fit data"
    if mistaken:
        return f"{CONTRARY}: {worse}; {'; '.join(mistaken)}"
    if unseen - 1 < LITTLE_OF_IT * (ratio - 1):
        return (
            f"the held-out data are unlike the fit data: {worse}, that on parts of the fit data which a fit has not seen only {unseen:.3g} "
            "times; has something changed between them (warmth, load, friction), or does their motion go further? A longer or richer log covers more"
        )
    return f"over-fitted: {worse}; give a longer or richer log"


def unexplained(
    held_out: Accuracy, coordinates: Coordinates, model: str = "the model", which: str = "held-out "
) -> tuple[list[str], list[str]]:
    """Reasons against the result, and cautions: coordinates whose mean torque predicts as well as the model does; in the words given."""
    reasons, cautions = [], []
    rms = np.sqrt(held_out.energy / max(held_out.samples, 1))
    for j in np.flatnonzero(held_out.rmse >= held_out.spread).tolist():
        name, unit, error, spread = coordinates.names[j], coordinates.units[j], held_out.rmse[j], held_out.spread[j]
        if not rms[j]:
            cautions.append(
                f"the {which}torque of {name} is always zero, so {name} counts as a joint without a drive; {model} predicts that "
                f"zero to {error:.3g} {unit} rms; if {name} has a drive, its column is wrong"
            )
            continue
        text = (
            f"{model} does not explain {name}: its {which}error, {error:.3g} {unit} rms, is not smaller than the standard "
            f"deviation of its torque, {spread:.3g} {unit}"
        )
        if name in coordinates.still:
            cautions.append(f"{text}; it stands still")
        elif error < NEARLY_CONSTANT * rms[j]:
            cautions.append(f"{text}; its torque hardly varies, its rms is {rms[j]:.3g} {unit}")
        else:
            reasons.append(text)
    return reasons, cautions


def _scope(found: "Diagnosis", coordinates: Coordinates) -> str:
    units = [POSITION_UNITS.get(unit, "SI") for unit in coordinates.units]
    rates = zip(coordinates.names, found.fastest, found.sharpest, units, strict=True)
    bounds = ", ".join(f"{name} {v:.3g} {unit}/s and {a:.3g} {unit}/s²" for name, v, a, unit in rates)
    return f"motions like the fitted {found.seconds:.3g} s, with speeds and accelerations up to: {bounds}"


def _cautions(
    wls: BaseEstimate, found: "Diagnosis", labels: Sequence[str], names: Sequence[str], unknown: np.ndarray
) -> list[str]:
    cautions = found.overconstraint.cautions() if found.overconstraint else []
    if missing := found.known.base.size - wls.base.size:
        cautions.append(
            f"the fit data determine {wls.base.size} of the {wls.base.size + missing} parameter combinations that motions of the robot can "
            "determine"
        )
    if len(unknown):
        worst = unknown[np.argmax(relative_deviations(wls)[unknown])]
        cautions.append(
            f"{len(unknown)} of {wls.base.size} base parameters are smaller than their standard deviation (most of all "
            f"{short(labels[worst])}): they are near zero, or the log hardly determines them"
        )
    if found.beyond:
        more = f", and {len(found.beyond) - 1} more" if len(found.beyond) > 1 else ""
        cautions.append(f"{found.beyond[0]}{more}: an offset, a unit, the robot or the limit is wrong")
    if found.stopped:
        cautions.append(
            f"at a bound although the log asks for a value beyond it: {'; '.join(found.stopped)}; noise does not explain that: an effect "
            "is missing from the model, or wrong in it (friction model or width, elasticity, a coupling, a length)"
        )
    instruments = found.instruments
    if instruments is not None and instruments.biased:
        k = int(np.argmax(np.abs(instruments.shifts)))
        cautions.append(
            f"OLS and instrumental variables disagree (chi-square {instruments.statistic:.3g} with {instruments.freedom} degrees of "
            f"freedom), most of all in {short(labels[k])}, by {abs(instruments.shifts[k]):.3g} standard deviations: "
            + _advice(found, bool(found.stopped))
        )
    wide = found.residuals.widening
    if wide.max() > COLOURED:
        j = int(np.argmax(wide))
        cautions.append(
            f"the held-out residuals are not white: at the frequencies of the motion, {names[j]} has {wide[j] ** 2:.3g} times the power of "
            f"white noise, so standard deviations are too small by a factor of up to {wide[j]:.3g}"
        )
    return cautions


def _advice(found: "Diagnosis", structure: bool) -> str:
    """What to do: change the model if parameters stand at bounds or residuals are not white, else the filters."""
    if structure:
        return "since parameters stand at bounds, an effect that the model lacks is more likely than noise; look for it before changing filters"
    if found.residuals.widening.max() > COLOURED:
        return (
            f"either an effect above {found.cutoff:.3g} Hz that the model lacks biases the estimates, as the coloured residuals suggest (the "
            "width of Coulomb friction, elasticity), or noise in the positions does; a lower cut-off shows which"
        )
    return f"noise in the positions above {found.cutoff:.3g} Hz biases the estimates; filter more"


def short(label: str, most: int = 60) -> str:
    """A combination, cut if it is too long for a sentence."""
    return label if len(label) <= most else label[: most - 4].rsplit(" ", 1)[0] + " ..."
