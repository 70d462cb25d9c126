"""A page in one file, readable offline: a verdict, then sections with text, tables and figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from robodyn_pin.viz.plot_data import zoom_library


@dataclass(frozen=True)
class Section:
    """One heading of a page and what stands below it."""

    title: str
    paragraphs: Sequence[str] = ()
    table: Sequence[dict[str, str]] = ()  # rows with the same keys, which are the headings of the columns
    figures: Sequence[str] = ()  # <svg> elements; with `with_numbers`, their values are shown and zoomed
    scene: str = ""  # HTML page shown in a frame


def section_page(
    title: str, banner: str, good: bool, verdict: str, reasons: Sequence[str], sections: Sequence[Section]
) -> str:
    """The text of a page; `banner`, unless empty, stands above all else."""
    pages = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined)
    return pages.get_template("sheet.html").render(
        title=title,
        banner=banner,
        good=good,
        verdict=verdict,
        reasons=reasons,
        sections=sections,
        zoom_library=zoom_library() if any("<script" in svg for s in sections for svg in s.figures) else "",
    )
