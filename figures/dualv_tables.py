"""Tables 2 and 3 of Briot et al. (DualV) beside ours. Simulated."""

from dataclasses import dataclass

import numpy as np
from dualv_case import TABLE_2, Case, torque_errors

from robodyn_pin.identification.essential import EssentialEstimate, relative_deviations
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.validation import errors

TABLE_3 = {
    "case 1": ((9.1, 8.5, 7.5, 8.9), (9.8, 8.5, 7.6, 10.5)),
    "case 2": ((9.1, 8.5, 8.0, 8.6), (10.0, 8.6, 8.2, 11.7)),
}
Checks = list[tuple[np.ndarray, np.ndarray]]  # columns (N, 4, p) and torques (N, 4) of motions that were not used


@dataclass(frozen=True)
class Table:
    """Ours of tables 2 and 3."""

    values: np.ndarray  # (9,)
    relative: np.ndarray  # (9,) [%]
    residual: float
    torques: list[str]  # errors of four motors [%], by motion

    @classmethod
    def of(cls, case: Case, found: EssentialEstimate, groups: list[Factor], checks: Checks) -> "Table":
        e, rng, torques = found.estimate, np.random.default_rng(7), []
        x = e.full(len(case.truth))
        for W, tau in checks:
            measured = tau + 0.1 * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
            torques.append(" ".join(f"{percent:.1f}" for percent in torque_errors(W, measured, x)))
        relative = 100 * case.nine_of(e, relative_deviations(e))
        return cls(case.nine_of(e, e.values), relative, errors(groups, x).percent_all / 100, torques)


def printed(tables: dict[str, Table]) -> str:
    """Tables 2 and 3 of the paper beside ours."""
    one, two = tables["case 1"], tables["case 2"]
    lines = ["| essential parameter | paper, case 1 | ours, SIMULATED | % sigma | paper, case 2 | ours, SIMULATED | % sigma |",
             "| --- | --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    for k, (label, *paper) in enumerate(TABLE_2.values()):
        cells = (f"{p:g} | {t.values[k]:.4g} | {t.relative[k]:.2f}" for p, t in zip(paper, (one, two), strict=True))
        lines.append(f"| {label} | {' | '.join(cells)} |")
    lines.append(f"| relative residual | 0.110 | {one.residual:.3f} | | 0.091 | {two.residual:.3f} | |")
    lines += ["", "| torque error [%], motors 1 to 4 | motion 1 | motion 2 |", "| --- | --- | --- |"]
    for name, table in tables.items():
        paper = " | ".join(" ".join(f"{e:g}" for e in row) for row in TABLE_3[name])
        lines += [f"| paper, {name} (other motions) | {paper} |"]
        lines += [f"| ours, {name}, SIMULATED, 10 % noise | {' | '.join(table.torques)} |"]
    return "\n".join(lines)
