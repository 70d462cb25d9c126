"""What lies over a 3D page: the player of a motion, and a legend with the scale."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path

PLAYER = Path(__file__).with_name("player.html")
STYLE = """<style>
#legend { position: absolute; right: 1rem; top: 2.6rem; max-width: 17rem; padding: .5rem .8rem; border-radius: 6px; color: #222;
 background: rgba(255, 255, 255, .92); font: 13px/1.45 system-ui, sans-serif }
#legend ul { margin: 0; padding: 0; list-style: none } #legend p { margin: .3rem 0 0 }
#legend i { display: inline-block; width: .8em; height: .8em; margin-right: .5em; border: 1px solid #555 }
#legend .bar { height: 12px; margin-top: .2rem; border: 1px solid #555 } #legend .ends { display: flex; justify-content: space-between }
@media (max-width: 700px) { #meshcat-pane { height: 72vh } #legend { top: auto; bottom: var(--player, 3.4rem); left: 1rem; max-width: none } }
</style>"""


@dataclass(frozen=True)
class Playing:
    """What a player shows."""

    end: float  # of the motion [s], as it is played
    start: float = 0.0  # what it shows at the beginning [s]
    slow: float = 1.0  # how many times slower than the motion it is played


@dataclass(frozen=True)
class ColourBar:
    """What colours mean."""

    label: str  # with its unit
    ends: tuple[str, str]  # of the smallest and the largest value
    colours: Sequence[str]  # from the smallest to the largest, evenly spaced, as CSS has them


def player(clock: Playing) -> str:
    """A button and a slider; space plays and pauses, arrow keys step."""
    return PLAYER.read_text(encoding="utf-8").replace("{{clock}}", json.dumps(asdict(clock)))


def legend(marks: Sequence[tuple[str, str]], bar: ColourBar | None, cell: float) -> str:
    """Coloured marks, each (CSS colour, meaning), a bar of colours, and the width of the grid's squares [m]."""
    rows = "".join(f'<li><i style="background: {colour}"></i>{escape(text)}</li>' for colour, text in marks)
    parts = [f"<ul>{rows}</ul>"] if marks else []
    if bar:
        low, high = map(escape, bar.ends)
        gradient = ", ".join(bar.colours)
        parts.append(
            f'<div>{escape(bar.label)}</div><div class="bar" style="background: linear-gradient(to right, {gradient})"></div>'
        )
        parts.append(f'<div class="ends"><span>{low}</span><span>{high}</span></div>')
    size = f"{cell:g} m" if cell >= 1 else f"{100 * cell:g} cm"
    return f'{STYLE}<div id="legend" role="group" aria-label="Legend">{"".join(parts)}<p>Squares of the grid: {size}.</p></div>'
