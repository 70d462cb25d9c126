"""Which rows of which log an identification used, and how well it explains each log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from robodyn_pin.identification.validation import Errors
from robodyn_pin.log_to_robot.held_out import Selected, stretch_of
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import rates_of
from robodyn_pin.logs.quality import Quality
from robodyn_pin.logs.stored_log import AnyLog


@dataclass(frozen=True)
class LogRecord:
    """Which rows of which file were used for what."""

    name: str
    use: str  # "fit" or "held out"
    begin: int
    end: int
    sha256: str
    quality: Quality
    differentiation: str  # how positions became rates, and why
    errors: Errors  # of the feasible fit on these rows, as scored
    loaded: bool = False  # the robot carried the payload
    period: float | None = None  # [s] after which the whole log's motion repeats; None: it does not
    ends: str = ""  # what is left out at the log's ends because it is no motion; samples count from there

    @property
    def stretch(self) -> str:
        """Its name, what it carries, its samples."""
        return stretch_of(self.name, self.loaded, self.begin, self.end)


def log_records(
    run: RunFile, fit: Sequence[Selected], logs: Sequence[AnyLog], held_out: Sequence[Selected],
    periods: Mapping[int, float | None], compared: str, explained: Sequence[Errors],
) -> tuple[LogRecord, ...]:  # fmt: skip
    """A record of each stretch of a log: of the fit logs, then of the held-out ones.

    Args:
        logs: windows of the fit logs. periods: by `id` of a log. compared: what is said of rates that were compared. explained: of each stretch.
    """
    # The fit finds rates from its own rows only, the held-out check from the whole log.
    seen_by = [("fit", s, log) for s, log in zip(fit, logs, strict=True)] + [("held out", s, s.log) for s in held_out]
    return tuple(
        LogRecord(
            s.log.name, use, s.begin, s.end, s.sha256, s.log.quality,
            rates_of(seen, run.preparation).reason + (f"; {compared}" if compared and use == "fit" else ""), found,
            s.log.loaded, periods[id(s.log)], s.ends,
        )
        for (use, s, seen), found in zip(seen_by, explained, strict=True)
    )  # fmt: skip


def remarks_on_motors(records: Sequence[LogRecord]) -> list[str]:
    """Remarks about the motors of a log, once for each file."""
    files = {(r.name, r.sha256): r for r in records}
    return [f"{r.name}: {text}" for r in files.values() for text in r.quality.remarks]
