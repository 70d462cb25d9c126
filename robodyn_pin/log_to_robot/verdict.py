"""Whether a result can be used, for what, and what to keep in mind."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from robodyn_pin.identification.accuracy import Accuracy
from robodyn_pin.identification.essential import relative_deviations
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.validation import Errors

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


WORSE_UNSEEN = 1.5  # times the fit error on unseen data: more than that is over-fitting
MEASURES = {"mean": "mean over the coordinates", "pooled": "all torques in one norm"}
TOO_MUCH_LEFT = 60.0  # percent of the torque norm, mean over motors: such a model explains little
ENOUGH = 15  # independent values a parameter; with fewer, regressions do not hold elsewhere (Harrell 2015, section 4.4)
UNKNOWN = 1.0  # relative standard deviation from which a parameter's sign is not even known
HARDLY = (
    0.1  # of the torque's rms: where the error is less, the torque is little more than its mean, and that is explained
)
COLOURED = 1.5  # widening of deviations by coloured residuals that is worth saying


@dataclass(frozen=True)
class Verdict:
    """Whether the result can be used, and why (not)."""

    accepted: bool
    reasons: tuple[str, ...]
    scope: str = ""  # which motions it holds for
    cautions: tuple[str, ...] = ()  # what to keep in mind, accepted or not


def judge(
    scored: "Scored", measure: str, wls: BaseEstimate, found: "Diagnosis", labels: Sequence[str], names: Sequence[str],
    looked: Accuracy, still: Collection[str] = (), noticed: Sequence[str] = (),
) -> Verdict:  # fmt: skip
    """Accept a result that has data enough, whose error is about the same on unseen data, and that explains every torque.

    A coordinate is not explained where the held-out error is not smaller than the spread of its torque about the mean. Where
    it stands still, or its torque is little more than its mean and the model gives that, it is a caution.

    Args:
        labels: of the base parameters. names: of the coordinates. looked: at held-out torques. still: motors that do not
            move. noticed: further cautions, of logs and choices.
    """
    reasons = []
    # Torque against torque: in percent a weaker held-out motion would look like over-fitting.
    ratio = float(np.mean(scored.held_out.rmse / np.maximum(scored.fit.rmse, 1e-12)))
    unseen, each = scored.held_out.by(measure), found.rows / max(wls.base.size, 1)
    unknown = np.flatnonzero(relative_deviations(wls) > UNKNOWN)
    if ratio > WORSE_UNSEEN:
        reasons.append(
            f"over-fitted: the error is {ratio:.3g} times larger on held-out data than on the fit data; give a longer or richer log"
        )
    if each < ENOUGH:
        reasons.append(
            f"over-fitted: {found.seconds:.3g} s of log have {each:.3g} independent values for each of {wls.base.size} base "
            f"parameters, {ENOUGH} are the least that hold elsewhere, and {len(unknown)} of the parameters are smaller than their "
            "standard deviation; give a longer log"
        )
    if unseen > TOO_MUCH_LEFT:
        reasons.append(
            f"{unseen:.3g} % of the held-out torque stays unexplained; check units, signs and the motor order"
        )
    against, minor = unexplained(looked, names, still)
    reasons += against
    if shown := [m.text for m in found.mistakes if m.of_log]:
        reasons.append("; or ".join(shown))
    elif against or unseen > TOO_MUCH_LEFT:
        reasons.append(
            "no usual mistake of columns, signs and units explains it: check the lengths and axes in the robot file, its "
            "friction, and whether the log is of this robot"
        )
    minor += [m.text for m in found.mistakes if not m.of_log]
    accepted = not reasons
    if accepted:
        reasons = [
            f"{unseen:.3g} % error on held-out data (rms over rms of the torque, {MEASURES[measure]}), {ratio:.2f} times the error on the fit data",
            "every body can exist: positive definite pseudo-inertia, mass inside its bounds, friction not negative",
        ]
    cautions = (*minor, *noticed, *_cautions(wls, found, labels, names, unknown))
    return Verdict(accepted, tuple(reasons), _scope(found, names), cautions)


def unexplained(looked: Accuracy, names: Sequence[str], still: Collection[str]) -> tuple[list[str], list[str]]:
    """Reasons against the result, and cautions: coordinates whose mean torque predicts as well as the model does."""
    reasons, cautions = [], []
    rms = np.sqrt(looked.energy / max(looked.samples, 1))
    for j in np.flatnonzero(looked.rmse >= looked.spread).tolist():
        if not rms[j]:
            cautions.append(
                f"the held-out torque of {names[j]} is always zero: it counts as a joint without a drive, and is held to that to "
                f"{looked.rmse[j]:.3g} N m (or N) rms; if it has a drive, its column is wrong"
            )
            continue
        said = (
            f"the model does not explain {names[j]}: its held-out error, {looked.rmse[j]:.3g} N m (or N) rms, is not smaller than "
            f"the spread of its torque about the mean, {looked.spread[j]:.3g}"
        )
        if names[j] in still:
            cautions.append(f"{said}; it stands still")
        elif looked.rmse[j] < HARDLY * rms[j]:
            cautions.append(f"{said}; its torque hardly varies, {looked.spread[j]:.2g} about {rms[j]:.3g}")
        else:
            reasons.append(f"{said}; check the sign, the unit and the column of its torque, and its friction")
    return reasons, cautions


def _scope(found: "Diagnosis", names: Sequence[str]) -> str:
    speeds = ", ".join(
        f"{name} {v:.3g} and {a:.3g}" for name, v, a in zip(names, found.fastest, found.sharpest, strict=True)
    )
    return (
        f"motions like the fitted {found.seconds:.3g} s, no faster than these speeds [rad/s or m/s] and accelerations "
        f"[rad/s² or m/s²]: {speeds}"
    )


def _cautions(
    wls: BaseEstimate, found: "Diagnosis", labels: Sequence[str], names: Sequence[str], unknown: np.ndarray
) -> list[str]:
    said = found.overconstraint.cautions() if found.overconstraint else []
    if missing := found.known.base.size - wls.base.size:
        said.append(
            f"the fit data show {wls.base.size} of the {wls.base.size + missing} combinations that the robot's motion can show"
        )
    if len(unknown):
        worst = unknown[np.argmax(relative_deviations(wls)[unknown])]
        said.append(
            f"{len(unknown)} of {wls.base.size} base parameters are smaller than their standard deviation (most of all "
            f"{short(labels[worst])}): they are near zero, or the log hardly shows them"
        )
    if found.beyond:
        more = f", and {len(found.beyond) - 1} more" if len(found.beyond) > 1 else ""
        said.append(f"{found.beyond[0]}{more}: an offset, a unit, the robot or the limit is wrong")
    if found.stopped:
        said.append(
            f"at a bound, against the log: {'; '.join(found.stopped)}: noise does not do that; the model lacks or has wrong "
            "something that moves alike (another friction model or width, elasticity, a coupling, a length)"
        )
    beside = found.instruments
    if beside is not None and beside.biased:
        k = int(np.argmax(np.abs(beside.shifts)))
        said.append(
            f"OLS and instrumental variables disagree (chi-square {beside.statistic:.3g} with {beside.freedom} degrees of "
            f"freedom), most of all in {short(labels[k])}, by {abs(beside.shifts[k]):.3g} standard deviations: "
            + _advice(found, bool(found.stopped))
        )
    wide = found.residuals.widening
    if wide.max() > COLOURED:
        j = int(np.argmax(wide))
        said.append(
            f"the held-out residuals are not white: where the motion is, {names[j]} has {wide[j] ** 2:.3g} times the power that "
            f"white noise would have, so standard deviations are too small by up to {wide[j]:.3g} times"
        )
    return said


def _advice(found: "Diagnosis", structure: bool) -> str:
    """Noise in positions asks for filters; what stands at bounds, or residuals that are not white, for another model."""
    if structure:
        return "as parameters stand at bounds, something that the model lacks is likelier than noise; see to that before filters"
    if found.residuals.widening.max() > COLOURED:
        return (
            f"something unmodelled above {found.cutoff:.3g} Hz moves the estimates, as residuals that are not white say (the "
            "width of Coulomb friction, elasticity), or noise in the positions, which a lower cut-off would show"
        )
    return f"noise in the positions above {found.cutoff:.3g} Hz moves the estimates; filter more"


def short(label: str, most: int = 60) -> str:
    """A combination that is cut where it gets too long for a sentence."""
    return label if len(label) <= most else label[: most - 4].rsplit(" ", 1)[0] + " ..."
