"""Makes the report's package importable from the source tree, and a page of synthetic inputs."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tools"), str(Path(__file__).parent)]

import report  # noqa: E402
import synthetic  # noqa: E402

CUDA = "// sums of a < b && c > d\n__global__ void kernel(const float *x) {}\n"


@pytest.fixture(scope="session")
def page(tmp_path_factory):
    """A page with all of its parts, as tools/report.py writes it."""
    folder = tmp_path_factory.mktemp("page")
    before = synthetic.search(scale=1.06)
    for record in before:  # one problem was faster before
        if record["kind"] == "measurement" and record["shape"].startswith("32,64") and record["median_ms"]:
            record.update({key: 0.85 * record[key] for key in ("median_ms", "low_ms", "high_ms")})
    (folder / "variants").mkdir()
    (folder / "variants" / "conv2d_direct_f32_oc64x128_t8x8_ic8_s3_w4_cuda.cu").write_text(CUDA)
    output = folder / "report.html"
    assert report.main([synthetic.write_log(folder / "now.jsonl", synthetic.search(types=("f32", "bf16"))),
                        "--before", synthetic.write_log(folder / "before.jsonl", before),
                        "--compare", synthetic.write_comparison(folder / "compare.tsv"),
                        "--cuda-source", str(folder / "variants"), "-o", str(output)]) == 0
    return output
