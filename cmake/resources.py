"""Collects the variants' NAME.resources into rows for the C++ table that `hconv list` prints.

    python3 resources.py OUT.inc FILE.resources ...

A line of a .resources file is `kernel arch registers spill_store_bytes spill_load_bytes shared_bytes threads`; it becomes
HCONV_KERNEL_RESOURCES(variant, kernel, arch, registers, spill_store_bytes, spill_load_bytes, shared_bytes, threads), all
of them bare tokens.
"""

import os
import sys

FIELDS = ("kernel", "arch", "registers", "spill_store_bytes", "spill_load_bytes", "shared_bytes", "threads")


def parse(text, file_name):
    """Dicts of one .resources file; ValueError (`file:line: sentence`) for a line that is not one."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        words = line.split()
        if len(words) != len(FIELDS) or not all(word.isdigit() for word in words[2:]):
            raise ValueError(f"{file_name}:{number}: '{line}' is not `{' '.join(FIELDS)}`.")
        rows.append({"kernel": words[0], "arch": words[1],
                     **{field: int(word) for field, word in zip(FIELDS[2:], words[2:])}})
    if not rows:
        raise ValueError(f"{file_name}:1: The file lists no kernel.")
    return rows


def to_inc_row(variant, row):
    return f"HCONV_KERNEL_RESOURCES({', '.join([variant, *(str(row[field]) for field in FIELDS)])})\n"


def main(arguments):
    out, files = arguments[0], arguments[1:]
    lines = [f"// HCONV_KERNEL_RESOURCES(variant, {', '.join(FIELDS)})\n"]
    try:
        for path in files:
            variant = os.path.basename(path).removesuffix(".resources")
            with open(path, encoding="utf-8") as file:
                lines += [to_inc_row(variant, row) for row in parse(file.read(), path)]
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    with open(out, "w", encoding="utf-8") as file:
        file.writelines(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
