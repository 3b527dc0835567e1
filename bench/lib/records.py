"""What a run of compare.py leaves: records, their tab-separated form, the tables and the geometric means."""

from __future__ import annotations

import dataclasses
import math

COLUMNS = ("shape", "type", "mode", "ms", "relative_l2_error", "who")


@dataclasses.dataclass(frozen=True)
class Record:
    """One contestant on one shape. `ms` is None where the result was wrong or there was none: then `note` says why.
    `who` is "hconv", "hconv call" or a peer; `variant` the hconv variant that ran, or the algorithm
    that a peer chose."""

    shape: str
    kind: str
    mode: str
    who: str
    ms: float | None
    error: float
    variant: str = ""
    note: str = ""
    flops: int = 0

    def tsv(self) -> str:
        ms = "FAILED" if self.ms is None else f"{self.ms:.6f}"
        who = f"{self.who} {self.variant}".strip() if self.who.startswith("hconv") else self.who
        return "\t".join((self.shape, self.kind, self.mode, ms, f"{self.error:.3e}", who))


def geometric_mean(values) -> float:
    """NaN for no values."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def _number(ms: float) -> str:
    return f"{ms:.4f}" if ms < 1 else f"{ms:.3f}" if ms < 100 else f"{ms:.1f}"


def _column_order(records, reference):
    others = list(dict.fromkeys((r.who, r.mode) for r in records))
    return [key for key in others if key != reference]


def ratio_table(records, kind: str) -> str:
    """One type's table: hconv's median ms, TFLOP/s and error, then for each other column its ms and, in brackets, how
    many times hconv's that is. The first hconv mode is the one that the others are divided by."""
    rows = [r for r in records if r.kind == kind and r.who not in ("hconv variant", "ceiling")]
    reference = next(((r.who, r.mode) for r in rows if r.who == "hconv"), None)
    if reference is None:
        return f"{kind}: no hconv result\n"
    columns = _column_order(rows, reference)
    found = {(r.shape, r.who, r.mode): r for r in rows}
    titles = [f"{who}" if mode == reference[1] else f"{who} {mode}" for who, mode in columns]
    widths = [max(17, len(title) + 2) for title in titles]
    shape_width = max(len("geometric mean") + 2, *(len(r.shape) + 2 for r in rows))
    lines = [f"{kind}, hconv {reference[1]}: median ms (other / hconv; above 1 hconv is faster)",
             f"{'shape':{shape_width}}{'hconv':>10}{'TFLOP/s':>9}{'error':>9}"
             + "".join(f"{title:>{width}}" for title, width in zip(titles, widths))]
    ratios = {key: [] for key in columns}
    for shape in dict.fromkeys(r.shape for r in rows):
        own = found.get((shape, *reference))
        if own is None or own.ms is None:
            line = f"{shape:{shape_width}}{'FAILED':>10}{'':>9}{own.error if own else math.nan:9.1e}"
        else:
            line = f"{shape:{shape_width}}{_number(own.ms):>10}{own.flops / own.ms / 1e9:9.3g}{own.error:9.1e}"
        for key, width in zip(columns, widths):
            other = found.get((shape, *key))
            cell = "-" if other is None else "FAILED" if other.ms is None else _number(other.ms)
            if other is not None and other.ms is not None and own is not None and own.ms is not None:
                ratios[key].append(other.ms / own.ms)
                cell += f" ({other.ms / own.ms:.2f})"
            line += f"{cell:>{width}}"
        lines.append(line)
    means = [f"({geometric_mean(ratios[key]):.2f}) of {len(ratios[key])}" if ratios[key] else "-" for key in columns]
    lines.append(f"{'geometric mean':{shape_width + 28}}"
                 + "".join(f"{mean:>{width}}" for mean, width in zip(means, widths)))
    return "\n".join(lines) + "\n"


def variant_table(records, kind: str, most: int = 6) -> str:
    """For each shape the fastest variants, and how far the dispatcher's choice is from the best."""
    lines = []
    for shape in dict.fromkeys(r.shape for r in records if r.kind == kind and r.who == "hconv variant"):
        timed = [r for r in records if r.kind == kind and r.shape == shape and r.who == "hconv variant"]
        ranked = sorted((r for r in timed if r.ms is not None), key=lambda r: r.ms)
        chosen = next((r for r in records if r.kind == kind and r.shape == shape and r.who == "hconv"), None)
        head = f"{kind} {shape}: {len(ranked)} of {len(timed)} variants ran"
        own = next((r for r in ranked if chosen and r.variant == chosen.variant), None)
        if own:
            head += f"; the chosen one takes {own.ms / ranked[0].ms:.2f} times the best"
        lines.append(head)
        for r in ranked[:most]:
            mark = "  <- chosen" if r is own else ""
            lines.append(f"  {_number(r.ms):>10} ms {r.flops / r.ms / 1e9:8.3g} TFLOP/s  {r.variant}{mark}")
        lines += [f"  FAILED: {r.variant}: {r.note}" for r in timed if r.ms is None]
    return "\n".join(lines) + "\n" if lines else ""
