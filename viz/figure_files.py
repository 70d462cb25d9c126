"""Figures of a page, which are also written beside it: as SVG, and their numbers as CSV."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib.figure import Figure

from robodyn_pin.files import write_text
from robodyn_pin.logs.writing import write_table
from robodyn_pin.viz.plot_data import six_digits, with_numbers
from robodyn_pin.viz.plots import svg, svg_document


@dataclass(frozen=True)
class Picture:
    """A figure and its numbers (the lines of torques are drawn with fewer points)."""

    name: str  # of its files
    figure: Figure
    columns: Mapping[str, np.ndarray | list[str]]  # head with unit -> (n,)

    @cached_property
    def svg(self) -> str:
        """An <svg> element."""
        return svg(self.figure, self.name)

    @property
    def html(self) -> Markup:
        """The same with its numbers, for a page with `zoom.html`."""
        return Markup(with_numbers(self.svg, self.figure))


def picture(figure: Figure, name: str, columns: Mapping[str, np.ndarray | list[str]]) -> Picture:
    """A figure with its numbers, named as `file_name`."""
    return Picture(file_name(name), figure, columns)


def file_name(name: str) -> str:
    """Characters that the name of a file cannot have become underscores: names in robots' files may be arm/joint_1."""
    return re.sub(r"[^\w.-]", "_", name)


def write_pictures(pictures: Iterable[Picture], folder: Path, note: str = "") -> None:
    """Write every figure as NAME.svg and NAME.csv; each file contains `note`, such as that the log is simulated."""
    for p in pictures:
        write_text(folder / f"{p.name}.svg", svg_document(p.svg, note))
        table = pl.DataFrame({head: x if isinstance(x, list) else six_digits(x) for head, x in p.columns.items()})
        write_table(folder / f"{p.name}.csv", table, note)
