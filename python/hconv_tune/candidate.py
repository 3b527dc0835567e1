"""A point of the search space, as rows of the manifest."""

from __future__ import annotations

import dataclasses
import functools

from .problem import LAYOUTS, Problem  # before manifest: it adds the path

import manifest  # noqa: E402  isort: skip

FFT_KEYS = ("fft_h", "fft_w")
DEFAULTS = {**manifest.DEFAULTS, "parts": 1, "a_shared": 0}
PARTS = (1, 2, 4, 8, 16, 32, 64)  # of a sum; those beyond 1 are a split variant's


@dataclasses.dataclass(frozen=True)
class Candidate:
    """`parameters` are the manifest's keys, of transform those of the transforms and of their product together; of a split
    variant `parts` besides, which is no key of its row but a number of the plan."""

    algorithm: str
    type: str
    target: str
    parameters: tuple  # of (key, value), sorted

    @classmethod
    def of(cls, algorithm: str, type: str, target: str, parameters: dict) -> "Candidate":
        """Parameters that a row may leave out are left out where they have the default's value; a split variant names its
        parts, be it one."""
        told = {key: value for key, value in parameters.items()
                if DEFAULTS.get(key) != value or key == "parts" and "split" in parameters}
        return cls(algorithm, type, target, tuple(sorted(told.items())))

    def rows(self) -> list[str]:
        """Lines of schedules/variants.txt."""
        values = dict(self.parameters)
        order = [key for key in manifest.KEYS if key in values]
        parts = [(self.algorithm, self.type, order)]
        if self.algorithm == "transform":
            parts = [("transform", self.type, FFT_KEYS),
                     ("spectral_product", "f32", [key for key in order if key not in FFT_KEYS])]
        if "layout" in values:
            values["layout"] = LAYOUTS[values["layout"]]
        return [" ".join([algorithm, type, self.target, *(f"{key}={values[key]}" for key in keys)])
                for algorithm, type, keys in parts]

    def variants(self) -> list:
        """The manifest's rows read back. Raises ManifestError with the sentence why one is not allowed."""
        return [variant for row in self.rows() for variant in manifest.parse_line(row)]

    @property
    def variant(self) -> str:
        """What HCONV_VARIANT takes: the name, behind a '+' the product's of transform or the parts of a split variant."""
        return _name(self)

    def helpers(self) -> list[str]:
        """Rows of the kernels that lay out weights and x for this one."""
        bits = "b32" if self.type == "f32" else "b16"
        memory = "cuda" if self.target == "cuda" else "cpu"
        packs = [f"pack {bits} {memory}"] if self.algorithm != "transform" else []
        sums = [f"sum_parts {self.type} cuda"] if "parts" in dict(self.parameters) else []
        if self.algorithm in ("mma", "wgmma"):
            packs.append("pack_input b16 cuda" + (" layout=nhwc" if "layout" in dict(self.parameters) else ""))
        return packs + sums


@functools.lru_cache(maxsize=4096)
def _name(candidate: Candidate) -> str:
    parts = dict(candidate.parameters).get("parts")
    return "+".join([variant.name for variant in candidate.variants()] + ([str(parts)] if parts else []))


@functools.lru_cache(maxsize=64)
def _parsed(manifest_text: str) -> tuple:
    return tuple(manifest.parse(manifest_text))


def shipped_candidates(manifest_text: str, problem: Problem) -> list[Candidate]:
    """The candidates that the manifest already has for a problem's type and target; of transform each with each product, of
    split variants each in each number of parts that divides the problem's steps. Variants of either layout serve the other,
    behind a conversion. Whether one can compute the problem is the library's to say (questions.listing)."""
    found, transforms, products = [], [], []
    for variant in _parsed(manifest_text):
        if variant.target != problem.target or variant.algorithm == "sum_parts":
            continue
        if variant.algorithm == "spectral_product":
            products.append(variant)
        elif variant.type == problem.type and variant.algorithm == "transform":
            transforms.append(variant)
        elif variant.type == problem.type and "split" in variant.params:
            steps = -(-problem.shape.in_channels // variant.params["ic"])
            found += [Candidate.of(variant.algorithm, variant.type, variant.target, {**variant.params, "parts": parts})
                      for parts in PARTS if steps % parts == 0]
        elif variant.type == problem.type:
            found.append(Candidate.of(variant.algorithm, variant.type, variant.target, variant.params))
    found += [Candidate.of("transform", t.type, t.target, {**t.params, **p.params}) for t in transforms for p in products]
    return found
