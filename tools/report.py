#!/usr/bin/env python3
"""Makes one self-contained HTML page of a tuner's logs: roofline, peers, heat maps, convergence, regression, kernels.

A part whose input was not given says so on the page. docs/report.md describes the inputs and the page.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

EXAMPLES = """examples:
  report.py tune.jsonl -o report.html
  report.py tune.jsonl --before old.jsonl --compare compare.tsv --cuda-source build/default/variants -o report.html
  report.py gpu0.jsonl gpu1.jsonl --heat tile_oc,tile_ow -o report.html"""


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", metavar="LOG", help="JSONL that tools/autotune.py wrote")
    parser.add_argument("--before", metavar="OLDLOG", help="the log of an earlier run, to compare times with")
    parser.add_argument("--compare", metavar="TSV",
                        help="lines of bench/compare.py --tsv, for the peers and the ceilings")
    parser.add_argument("--cuda-source", metavar="DIR", help="folder with the kernels' NAME.cu: BUILD/variants")
    parser.add_argument("--heat", metavar="PARAMETER,PARAMETER", help="rows and columns of the heat maps "
                        "(default: the two with the most combinations of values)")
    parser.add_argument("--title", default="hconv: tuning report", help="(default: %(default)s)")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the page to write")
    options = parser.parse_args(arguments)
    options.heat = tuple(options.heat.split(",")) if options.heat else ()
    if options.heat and (len(options.heat) != 2 or not all(options.heat) or len(set(options.heat)) != 2):
        parser.error(f"--heat is '{','.join(options.heat)}'; expected two names of parameters, as in tile_oc,tile_ow.")
    return options


def main(arguments=None) -> int:
    """0: the page is written; 2: an input cannot be used."""
    options = parse(arguments)
    try:
        from hconv_report import page, peers, records, sections, sources
        from hconv_tune.log import LogError
    except ImportError as reason:
        print(f"report: {reason}; expected the Python packages of requirements.txt (scripts/setup).", file=sys.stderr)
        return 2
    try:
        inputs = sections.Inputs(
            run=records.read_logs(options.logs),
            before=records.read_logs([options.before]) if options.before else None,
            comparison=peers.read_comparison(options.compare) if options.compare else None,
            sources=sources.Sources(options.cuda_source), heat=options.heat)
        text = page.render(inputs, options.title)
        Path(options.output).write_text(text, encoding="utf-8")
    except (OSError, LogError, peers.TsvError) as reason:
        print(f"report: {reason}", file=sys.stderr)
        return 2
    print(f"{options.output}: {len(text.encode()) / 1e6:.2f} MB, {len(inputs.run.measurements)} measurements, "
          f"{len(inputs.run.decisions)} decisions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
