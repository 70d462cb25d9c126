"""What one log says of the parameters, and a folder in which finished ones stay."""

import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from robodyn_pin.errors import BadFile
from robodyn_pin.identification.fold import Factor
from robodyn_pin.log_to_robot.rows import Folded
from robodyn_pin.storage.remote import make_folder, placed, store_bytes, stored_bytes

PARTS = ("rows", "scored", "whole")
_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


@dataclass(frozen=True)
class Leaf:
    """One log, folded."""

    log: str  # its name
    content: str  # SHA-256 of its samples
    rate: float  # [Hz]
    size: int  # samples
    loaded: bool  # the robot carried the payload
    simulated: bool  # the log says so
    rows: Folded  # [segment][coordinate], as fitted
    scored: Folded  # [segment][coordinate], as scored
    whole: Folded | None  # [segment][coordinate], torques at full bandwidth; None: they are scored so


@contextmanager
def keeping(folder: Path | None) -> Iterator[None]:
    """Keep finished leaves in a folder, of another machine where it starts like s3://, and take from there what is ready,
    within a `with` block.

    Raises:
        BadFile: the folder cannot be made, or written.
    """
    if folder is not None:
        folder = placed(folder)
        try:
            make_folder(folder)
        except OSError as error:
            raise BadFile(f"cannot keep what is folded in {folder}: {error.strerror}; name another folder") from None
    before = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(before)


def kept_in() -> Path | None:
    """The folder of finished leaves; None: none are kept."""
    return _folder.get()


def leaf_path(folder: Path, made_with: str, content: str) -> Path:
    """Where the leaf of a log lies: robot, settings and samples decide."""
    return folder / f"{hashlib.sha256(f'{made_with} {content}'.encode()).hexdigest()}.npz"


def keep(path: Path, leaf: Leaf) -> None:
    """Write a leaf, whole or not at all, and at once: it outlives a command that is interrupted.

    Raises:
        BadFile: it cannot be written.
    """
    arrays = {
        "about": np.array([leaf.log, leaf.content]), "clock": np.array([leaf.rate, leaf.size, leaf.loaded, leaf.simulated]),
        "shape": np.array([len(leaf.rows), len(leaf.rows[0]), len(leaf.rows[0][0].R)]),
    }  # fmt: skip
    for part in PARTS:
        factors = [factor for segment in getattr(leaf, part) or [] for factor in segment]
        arrays[part] = np.array([f.R[np.triu_indices(len(f.R))] for f in factors])
        arrays[f"{part}_counts"] = np.array([(f.rows, f.energy) for f in factors])
    content = BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    try:
        store_bytes(path, content.getvalue())
    except OSError as error:
        raise BadFile(
            f"cannot keep what is folded of {leaf.log} in {path.parent}: {error.strerror}; make room there, or leave 'cache' out"
        ) from None


def kept(path: Path) -> Leaf | None:
    """A leaf from its file; None: there is none, or it cannot be read, so that it is made again."""
    content = stored_bytes(path)
    if content is None:
        return None
    with suppress(OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error), np.load(BytesIO(content)) as found:
        segments, d, size = found["shape"].tolist()
        folded = {}
        for part in PARTS:
            triangles, counts = found[part], found[f"{part}_counts"].tolist()
            R = np.zeros((len(triangles), size, size))
            R[:, *np.triu_indices(size)] = triangles if len(triangles) else 0.0
            factors = [Factor(r, int(rows), energy) for r, (rows, energy) in zip(R, counts, strict=True)]
            folded[part] = [factors[k * d : (k + 1) * d] for k in range(segments)]
        name, content = found["about"].tolist()
        rate, samples, loaded, simulated = found["clock"].tolist()
        whole = folded["whole"] if len(found["whole"]) else None
        about = (name, content, rate, int(samples), bool(loaded), bool(simulated))
        return Leaf(*about, folded["rows"], folded["scored"], whole)
    return None
