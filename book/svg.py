"""Small line charts as SVG: only what the figures of the book need, in the colours of `--plot`.

Coordinates are rounded to a tenth of a pixel, so that a chart is the same text on every machine.
"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Callable, Sequence

BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#D55E00", "#009E73", "#B2182B", "#6B727B"
INK, PALE = "#22262B", "#E3E6EA"
MARGIN_LEFT, MARGIN_TOP, MARGIN_RIGHT, MARGIN_BOTTOM = 52, 34, 14, 40


@dataclasses.dataclass
class Line:
    """A line of points, with a name that is written beside its end."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    width: float = 2.0
    dashed: bool = False


@dataclasses.dataclass
class Panel:
    """A chart: lines over labelled ticks. `x_ticks` and `y_ticks` are values with their texts."""

    title: str
    lines: list[Line]
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]
    x_label: str = ""
    y_label: str = ""
    label_space: int = 0


def chart(panels: list[Panel], width: int, height: int) -> str:
    """Panels side by side."""
    each = width / len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#FFFFFF"/>',
    ]
    for position, panel in enumerate(panels):
        parts += draw(panel, position * each, each, height)
    return "\n".join([*parts, "</svg>", ""])


def draw(panel: Panel, left: float, width: float, height: float) -> list[str]:
    x0, x1 = left + MARGIN_LEFT, left + width - MARGIN_RIGHT - panel.label_space
    y0, y1 = height - MARGIN_BOTTOM, MARGIN_TOP
    lowest, highest = panel.y_ticks[0][0], panel.y_ticks[-1][0]
    first = min(point[0] for line in panel.lines for point in line.points)
    last = max(point[0] for line in panel.lines for point in line.points)

    def place(x: float, y: float) -> tuple[float, float]:
        across = x0 + (x - first) / (last - first) * (x1 - x0)
        return round(across, 1), round(y0 + (y - lowest) / (highest - lowest) * (y1 - y0), 1)

    parts = [text(x0, 18, panel.title, INK, weight="600")]
    for value, label in panel.y_ticks:
        _, y = place(first, value)
        parts.append(f'<line x1="{x0:.1f}" x2="{x1:.1f}" y1="{y}" y2="{y}" stroke="{PALE}"/>')
        parts.append(text(x0 - 6, y + 4, label, GREY, anchor="end"))
    for value, label in panel.x_ticks:
        x, _ = place(value, lowest)
        parts.append(text(x, y0 + 16, label, GREY, anchor="middle"))
    if panel.x_label:
        parts.append(text((x0 + x1) / 2, height - 6, panel.x_label, GREY, anchor="middle"))
    if panel.y_label:
        parts.append(text(x0, MARGIN_TOP - 4, panel.y_label, GREY))
    for line in panel.lines:
        points = [place(*point) for point in line.points]
        path = " ".join(f"{x},{y}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if line.dashed else ""
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{line.colour}" '
            f'stroke-width="{line.width}" stroke-linejoin="round"{dash}/>'
        )
    parts += labels(panel, place, x1)
    return parts


def labels(panel: Panel, place: Callable[[float, float], tuple[float, float]], x1: float) -> list[str]:
    """The names of lines beside their ends, moved apart if they would touch."""
    if not panel.label_space:
        return []
    ends = sorted(((place(*line.points[-1])[1], line) for line in panel.lines), key=lambda end: end[0])
    parts, free = [], 0.0
    for y, line in ends:
        y = max(y, free)
        free = y + 15
        parts.append(text(x1 + 8, y + 4, line.name, line.colour, weight="600"))
    return parts


def tree(levels: int, total: int, event: int) -> str:
    """The blocks of a binary tree over 2^levels steps: filled, those that add up to the total after
    a number of steps; outlined, those that contain the event of a step."""
    steps, row, margin = 2**levels, 34, 16
    width, height = 760, row * (levels + 1) + 62
    unit = (width - 2 * margin) / steps
    # The total is the sum of one block for each binary digit of the number of steps.
    summed = {(level, (total >> (level + 1)) << 1) for level in range(levels + 1) if total >> level & 1}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#FFFFFF"/>',
    ]
    for level in range(levels, -1, -1):
        for block in range(steps >> level):
            x, y = margin + block * unit * 2**level, 10 + (levels - level) * row
            fill = BLUE if (level, block) in summed else "#F5F7F9"
            stroke, line = (ORANGE, 2.5) if event - 1 >> level == block else (PALE, 1)
            parts.append(
                f'<rect x="{x + 2:.1f}" y="{y}" width="{unit * 2**level - 4:.1f}" height="{row - 8}" rx="4" '
                f'fill="{fill}" stroke="{stroke}" stroke-width="{line}"/>'
            )
    for step in range(steps):
        parts.append(text(margin + (step + 0.5) * unit, height - 40, str(step + 1), GREY, anchor="middle"))
    parts.append(text(margin, height - 12, f"filled: the blocks that add up to the total after step {total}", BLUE))
    parts.append(text(width / 2, height - 12, f"outlined: the blocks that contain an event of step {event}", ORANGE))
    return "\n".join([*parts, "</svg>", ""])


def text(x: float, y: float, content: str, colour: str, anchor: str = "start", weight: str = "400") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{html.escape(content)}</text>'
    )
