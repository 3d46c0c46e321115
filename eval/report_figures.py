"""Geometry of the report's small figures; the template draws them, the style sheet colours them.

Colours are steps, not values: step 0 is no change, +6 the largest gain, -6 a loss as large.
So a light, a dark and a printed page can each have colours of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NUM_STEPS = 6
MAX_PEOPLE = 24  # more rows than this nobody reads; the whole matrix is in metrics.json


@dataclass(frozen=True)
class Cell:
    value: float | None
    step: int  # -6 to +6
    is_own: bool
    is_largest: bool  # of its row


@dataclass(frozen=True)
class HeatMap:
    """Rows are whose answers, columns whose adapter."""

    columns: list[str]
    rows: list[tuple[str, list[Cell]]]
    limit: float  # the value that has the strongest colour
    num_left_out: int


def heat_map(people: Sequence[str], matrix: Sequence[Sequence[float | None]]) -> HeatMap:
    """Cells coloured by their share of the largest absolute value; rows without answers go."""
    shown = range(min(len(people), MAX_PEOPLE))
    limit = max((abs(v) for row in matrix for v in row if v is not None), default=0.0)
    rows = []
    for i in shown:
        values = [matrix[i][j] for j in shown]
        if any(value is not None for value in values):
            largest = max(value for value in matrix[i] if value is not None)
            cells = [
                Cell(value, _step(value, limit), is_own=i == j, is_largest=value == largest)
                for j, value in enumerate(values)
            ]
            rows.append((people[i], cells))
    return HeatMap([people[j] for j in shown], rows, limit, len(people) - len(shown))


def _step(value: float | None, limit: float) -> int:
    return 0 if value is None or limit == 0 else round(NUM_STEPS * value / limit)


@dataclass(frozen=True)
class Scale:
    """A horizontal axis in pixels; all plots of a table share one."""

    low: float
    high: float
    width: int
    margin: int = 8

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        share = (inside - self.low) / (self.high - self.low)
        return round(self.margin + share * (self.width - 2 * self.margin), 2)

    def ticks(self) -> list[float]:
        """Two to five round values."""
        step = _nice((self.high - self.low) / 4)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(i * step, 10) for i in range(first, last + 1)]


def scale_over(values: Iterable[float | None], *, width: int, zero: bool = False) -> Scale:
    """An axis over these values, and zero if wanted, with a little air."""
    known = [value for value in values if value is not None] + ([0.0] if zero else [])
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    air = (high - low) * 0.06 or 0.5
    return Scale(low - air, high + air, width)


def _nice(step: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step * (1 - 1e-9))


def sparkline(values: Sequence[float], *, width: int = 100, height: int = 28) -> list[list[float]]:
    """Points of a curve, evenly spaced, the largest value at the top."""
    low, high = min(values), max(values)
    spread = high - low or 1.0
    across = (width - 8) / max(len(values) - 1, 1)
    down = height - 8
    return [
        [round(4 + i * across, 2), round(4 + (high - value) / spread * down, 2)]
        for i, value in enumerate(values)
    ]


def ends(interval: Mapping[str, Any]) -> list[float | None]:
    return [interval["mean"], interval["low"], interval["high"]]
