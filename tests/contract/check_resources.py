"""Holds every generated kernel to its row of resources.txt, on every supported architecture.

    python3 check_resources.py --build BUILD --nvcc NVCC [--cuobjdump CUOBJDUMP] [--update] [--jobs 2]

A kernel may use at most the registers of its row, exactly its shared memory and threads, and may never spill or have a
stack frame, which is local memory too. A kernel without a row, and a row without a kernel, are failures as well.
Registers are compared only under the nvcc release that the table was made with, which its first line names; everything
else under any. --update rewrites the table, and still fails when something spills or has a frame.
"""

import argparse
import pathlib
import sys

import cuda_images

TABLE = pathlib.Path(__file__).with_name("resources.txt")
FIELDS = ("kernel", "threads", "shared_bytes", *(f"sm_{arch}" for arch in cuda_images.ARCHS))


def format_table(kernels, release):
    """Text of resources.txt: a line a kernel, with its registers on each architecture, - where it has no code for one.
    ValueError where a kernel's shared memory or threads differ between architectures."""
    rows = {}
    for k in kernels:
        row = rows.setdefault(k.name, {"kernel": k.name, "threads": k.threads, "shared_bytes": k.shared_bytes})
        if (row["threads"], row["shared_bytes"]) != (k.threads, k.shared_bytes):
            raise ValueError(f"{k.name} has {k.shared_bytes} shared bytes and {k.threads} threads on sm_{k.arch}, others "
                             "on other architectures: the table has one column for each.")
        row[f"sm_{k.arch}"] = k.registers
    lines = [FIELDS, *([str(row.get(field, "-")) for field in FIELDS] for row in rows.values())]
    widths = [max(len(line[i]) for line in lines) for i in range(len(FIELDS))]
    lines = ["  ".join(value.ljust(width) for value, width in zip(line, widths)).rstrip() for line in lines]
    return (f"# nvcc {release}. Made by check_resources.py --update from ptxas -v: registers on each architecture, shared "
            f"memory in bytes a block.\n# {lines[0]}\n" + "".join(f"  {line}\n" for line in lines[1:]))


def parse_table(text, file_name="resources.txt"):
    """(nvcc release, {(kernel, arch): Kernel}); ValueError (`file:line: sentence`) for a line that is not a row."""
    release = None
    rows = {}
    names = set()
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# nvcc "):
            release = line.split()[2].rstrip(".")
        words = line.split("#")[0].split()
        if not words:
            continue
        registers = dict(zip(cuda_images.ARCHS, words[3:]))
        if len(words) != len(FIELDS) or not all(word.isdigit() for word in words[1:3]) or not all(
                count == "-" or count.isdigit() for count in registers.values()):
            raise ValueError(f"{file_name}:{number}: '{line.strip()}' is not `{' '.join(FIELDS)}`.")
        name, threads, shared_bytes = words[0], int(words[1]), int(words[2])
        if name in names:
            raise ValueError(f"{file_name}:{number}: {name} has a row already.")
        names.add(name)
        for arch, count in registers.items():
            if count != "-":
                rows[name, arch] = cuda_images.Kernel(name, arch, int(count), 0, shared_bytes, threads)
    if release is None:
        raise ValueError(f"{file_name}:1: The first line does not say `# nvcc RELEASE`.")
    return release, rows


def violations(kernels, rows, same_release):
    """Sentences, one for each breach of the contract."""
    found = []
    for kernel in kernels:
        where = f"{kernel.name} on sm_{kernel.arch}"
        if kernel.spill_bytes:
            found.append(f"{where} spills {kernel.spill_bytes} bytes of registers.")
        if kernel.stack_bytes:
            found.append(f"{where} has a stack frame of {kernel.stack_bytes} bytes.")
        row = rows.get((kernel.name, kernel.arch))
        if row is None:
            found.append(f"{where} has no row.")
            continue
        if same_release and kernel.registers > row.registers:
            found.append(f"{where} uses {kernel.registers} registers, its row allows {row.registers}.")
        for field in ("shared_bytes", "threads"):
            if getattr(kernel, field) != getattr(row, field):
                found.append(f"{where} has {field} {getattr(kernel, field)}, its row says {getattr(row, field)}.")
    present = {(kernel.name, kernel.arch) for kernel in kernels}
    found += [f"The row of {name} on sm_{arch} belongs to no kernel." for name, arch in rows if (name, arch) not in present]
    return found


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder that holds variants/")
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--cuobjdump", default="cuobjdump")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", type=pathlib.Path, default=TABLE)
    parser.add_argument("--update", action="store_true", help="rewrite the table from what is measured")
    options = parser.parse_args(arguments)
    try:
        release = cuda_images.nvcc_release(options.nvcc)
        tools = cuda_images.Tools(options.nvcc, options.cuobjdump, release)
        kernels = cuda_images.all_kernels(options.build, tools, options.jobs)
        if options.update:
            options.table.write_text(format_table(kernels, release), encoding="utf-8")
        table_release, rows = parse_table(options.table.read_text(encoding="utf-8"), str(options.table))
    except (cuda_images.ToolError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    found = violations(kernels, rows, release == table_release)
    for sentence in found:
        print(sentence, file=sys.stderr)
    if release != table_release:
        print(f"Registers were not compared: nvcc is {release}, the table was made with {table_release}.")
    print(f"{len(kernels)} kernels on {len(cuda_images.ARCHS)} architectures checked, {len(found)} violations.")
    return 1 if found or not kernels else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
