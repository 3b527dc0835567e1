"""Types of command-line arguments."""

from __future__ import annotations

import argparse


def words(allowed, empty=()):
    """An argparse type: a comma-separated list of some of `allowed`; of no word it makes `empty`."""
    def parse(text):
        found = [word for word in text.split(",") if word]
        for word in found:
            if word not in allowed:
                raise argparse.ArgumentTypeError(f'"{word}" is none of {", ".join(allowed)}')
        return found or list(empty)

    return parse
