"""The CUDA text of variants, as the build left it: <build>/variants/NAME.cu."""

from __future__ import annotations

from pathlib import Path

# Functions of a transform variant; each has a file of its own.
SUFFIXES = ("", "_input", "_weights", "_output")
LARGEST = 400_000  # bytes of one file, and of all together
TOTAL = 4_000_000


class Sources:
    """Looks files up in a folder, and keeps the page's size within bounds."""

    def __init__(self, folder):
        """`folder` may be None. Raises OSError with a sentence where it is no folder."""
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None and not self.folder.is_dir():
            raise OSError(f"{folder} is no folder; expected the one that holds the build's NAME.cu files.")
        self._left = TOTAL

    def of(self, variant: str) -> tuple[list, str]:
        """([(file name, text)], why something is missing or ""). A '+' in the name joins transforms and product, or a
        split variant and its number of parts."""
        if self.folder is None:
            return [], "no --cuda-source folder was given"
        found, notes = [], []
        for name in variant.split("+"):
            if name.isdigit():
                continue
            if not name.isidentifier():  # never a path
                return [], "its name is no file's"
            paths = [self.folder / f"{name}{suffix}.cu" for suffix in SUFFIXES]
            paths = [path for path in paths if path.is_file()]
            if not paths:
                notes.append(f"{name}.cu is not in {self.folder}")
            for path in paths:
                size = path.stat().st_size
                if size > min(LARGEST, self._left):
                    notes.append(f"{path.name} has {size} bytes, too many for this page")
                    continue
                self._left -= size
                found.append((path.name, path.read_text(encoding="utf-8", errors="replace")))
        return found, "; ".join(notes)
