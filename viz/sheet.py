"""A page of one file, offline: a verdict, then parts with words, tables and figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

Row = dict[str, str]


@dataclass(frozen=True)
class Part:
    """One heading of a page."""

    title: str
    words: Sequence[str] = ()  # paragraphs
    table: Sequence[Row] = ()  # the same keys in each row: the headings of its columns
    figures: Sequence[str] = ()  # <svg> elements
    scene: str = ""  # a page of its own, shown in a frame


def sheet(title: str, banner: str, good: bool, verdict: str, reasons: Sequence[str], parts: Sequence[Part]) -> str:
    """The text of a page; `banner`, where there is one, stands above all else."""
    pages = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined)
    return pages.get_template("sheet.html").render(
        title=title, banner=banner, good=good, verdict=verdict, reasons=reasons, parts=parts
    )
