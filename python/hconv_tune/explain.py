"""Texts: what a run would do (--dry-run) and why a log's winners won (--explain)."""

from __future__ import annotations

import collections
import random

from .finals import run_ms
from .problem import Problem
from .search import Plan
from .space import candidate_of

SAMPLED = 2000
BUILD_SECONDS, MEASURE_SECONDS = {"cuda": 8.0, "cpu": 4.0}, {"cuda": 0.25, "cpu": 0.5}


def _sample(plan: Plan) -> tuple[float, collections.Counter]:
    """(share of the combinations that are not rejected, reasons of the others), of some drawn at random."""
    draw, kept, reasons = random.Random(0), 0, collections.Counter()
    for number in range(SAMPLED):
        space = plan.spaces[number % len(plan.spaces)]
        values = {key: draw.choice(choices) for key, choices in plan.allowed[space.algorithm].items()}
        candidate, reason = candidate_of(space, values, plan.problem)
        kept += candidate is not None
        reasons.update([reason] if reason else [])
    return kept / SAMPLED, reasons


def describe_plan(plan: Plan, trials: int, rounds: int, measured: int) -> tuple[str, float]:
    """(text, expected seconds) of a problem that is not tuned yet."""
    lines = [f"{plan.problem}"]
    if not plan.spaces or not plan.combinations:
        return "\n".join(lines + ["  no space serves it"]), 0.0
    for space in plan.spaces:
        lines.append(f"  {space.algorithm}")
        for key, values in plan.allowed[space.algorithm].items():
            lines.append(f"    {key:12} {' '.join(map(str, values))}")
        lines += [f"    not          {reason}" for reason in plan.limits[space.algorithm]]
    if plan.candidates is not None:
        count, reasons = len(plan.candidates), plan.rejections
        lines.append(f"  {plan.combinations} combinations, {count} candidates, all measured")
    else:
        share, reasons = _sample(plan)
        count = trials
        lines.append(f"  {plan.combinations} combinations, about {share:.0%} of them candidates, {trials} measured")
    lines += [f"    {number:6} rejected: {reason}" for reason, number in reasons.most_common(5)]
    kind, new = plan.problem.device, max(0, min(count, trials) - measured)
    seconds = new * (BUILD_SECONDS[kind] + MEASURE_SECONDS[kind]) + 5 * rounds * MEASURE_SECONDS[kind]
    lines.append(f"  {measured} measurements are in the log; about {seconds:.0f} s more without a cache of candidates")
    return "\n".join(lines), seconds


def _key(record: dict) -> tuple:
    # Logs from before decisions had a layout have one alone.
    return (record["shape"], tuple(record["pad"]), record["type"], record["mode"], record["target"],
            record.get("layout", "nchw"))


def of_problem(records, problem: Problem) -> list:
    """A log's records of a problem."""
    key = (problem.token, problem.shape.padding, problem.type, problem.mode, problem.target, problem.layout)
    return [record for record in records if "pad" in record and _key(record) == key]


def explain(records, problem: Problem, most: int = 8) -> str:
    """Why a problem has its winner."""
    own = of_problem(records, problem)
    if not own:
        return f"{problem}: nothing in the log"
    measured = [r for r in own if r["kind"] == "measurement"]
    statuses = collections.Counter(r["status"] for r in measured)
    lines = [f"{problem}: {len(measured)} measurements ({', '.join(f'{n} {s}' for s, n in sorted(statuses.items()))})"]
    search = sorted((r for r in measured if r["status"] == "ok" and r["round"] == 0), key=lambda r: r["median_ms"])
    for record in search[:most]:
        low, high = record["low_ms"], record["high_ms"]
        between = f"[{low:.4f}, {high:.4f}]" if low and high else "too few samples for an interval"
        lines.append(f"  {record['median_ms']:9.4f} ms {between} of {len(record['samples_ms'])} samples, "
                     f"{record['rejected_samples']} rejected, error {record['error_l2'] or 0:.1e}  {record['variant']}")
    if len(search) > most:
        lines.append(f"  and {len(search) - most} slower ones")
    finals = collections.defaultdict(list)
    for record in measured:
        if record["round"] and record["status"] == "ok":
            finals[record["variant"]].append(run_ms(record))
    for variant, runs in sorted(finals.items(), key=lambda item: sorted(item[1])[len(item[1]) // 2]):
        lines.append(f"  finals: {variant}: {' '.join(f'{ms:.4f}' for ms in runs)} ms")
    reasons = collections.Counter((r["status"], r["reason"]) for r in measured if r["status"] != "ok")
    for (status, reason), count in reasons.most_common(most):
        lines.append(f"  {count} x {status}: {reason[:200]}")
    for record in own:
        if record["kind"] == "decision":
            lines.append(f"  {record['when']} {record['verdict']}: {record['why']}")
    return "\n".join(lines)
