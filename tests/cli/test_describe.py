"""hconv list, explain, devices, bench, --version and --help."""

import re
import pathlib

import pytest

from conftest import HAS_CUDA, NO_DRIVER

COMMANDS = ["conv", "bench", "explain", "list", "devices"]
HEADER = pathlib.Path(__file__).parents[2] / "runtime/include/hconv/hconv.h"


def test_version_is_that_of_the_header(cli):
    numbers = re.findall(r"#define HCONV_VERSION_\w+ (\d+)", HEADER.read_text())
    assert cli.ok("--version").stdout == "hconv " + ".".join(numbers) + "\n"
    assert cli.json("--version")["version"] == ".".join(numbers)


@pytest.mark.parametrize("command", [[]] + [[c] for c in COMMANDS])
def test_help_has_examples_that_exist(cli, command):
    text = cli.ok(*command, "--help").stdout
    assert "Examples:" in text
    examples = re.findall(r"^  hconv (\S+)(.*)$", text, re.M)
    assert examples
    for name, rest in examples:
        assert name in COMMANDS and (not command or name == command[0])
        options = cli.ok(name, "--help").stdout.split("Examples:")[0]
        for option in re.findall(r"(?<!\S)--?[a-z]+", rest):
            assert re.search(rf"(?<![\w-]){option}\b", options), f"{option} of '{name}{rest}' is no option"


def test_help_documents_exit_codes(cli):
    text = cli.ok("--help").stdout
    codes = re.findall(r"^  (\d)  \S", text.split("Exit codes:")[1], re.M)
    assert codes == ["0", "2", "3", "4", "5"]


def test_devices(cli):
    document = cli.json("devices")
    devices = [entry["device"] for entry in document["devices"]]
    assert devices[-1] == "cpu"
    assert document["default"] == devices[0]
    assert all(entry["name"] for entry in document["devices"])
    if HAS_CUDA:
        assert devices[0] == "cuda:0"
    without = cli.run("devices", **NO_DRIVER)
    assert without.stdout.startswith("cpu\t") and "(default)" in without.stdout
    assert "no CUDA driver" in without.stderr


def test_list(cli):
    variants = cli.json("list")
    names = [variant["name"] for variant in variants]
    assert len(set(names)) == len(names) > 0
    text = cli.ok("list").stdout
    for variant in variants:
        assert variant["name"] in text
        if variant["target"] == "cuda":
            assert variant["resources"], variant["name"]
            for kernel in variant["resources"]:
                assert 0 < kernel["registers"] <= 255 and kernel["shared_bytes"] >= 0
    for type_name in ("f32", "bf16", "f16"):
        for target in ("cuda", "cpu"):
            assert any(v["type"] == type_name and v["target"].startswith(target) for v in variants)


@pytest.mark.parametrize("name", ["cpu", "cuda"])
def test_explain_needs_no_device(cli, name):
    arguments = ("explain", "2,3,20,30,5,4,7", "--pad", "same", "--type", "bf16", "--device", name)
    document = cli.json(*arguments, **NO_DRIVER)
    problem = document["problem"]
    assert (problem["batch"], problem["in_channels"], problem["height"], problem["width"]) == (2, 3, 20, 30)
    assert (problem["kernel_height"], problem["kernel_width"], problem["out_channels"]) == (5, 4, 7)
    assert problem["padding"] == {"top": 2, "bottom": 2, "left": 1, "right": 2}
    assert (problem["output_height"], problem["output_width"]) == (20, 30)
    assert document["variant"]["type"] == "bf16"
    assert document["variant"]["target"].startswith(name)
    assert document["variant"]["name"] in cli.ok(*arguments, **NO_DRIVER).stdout


def test_a_shapes_own_padding_wins(cli):
    document = cli.json("explain", "1,1,9,9,3,3,1,4:3:2:1", "--pad", "same", "--device", "cpu")
    assert document["problem"]["padding"] == {"top": 4, "bottom": 3, "left": 2, "right": 1}


@pytest.mark.parametrize("type_name", ["f32", "bf16", "f16"])
def test_bench(cli, device, type_name):
    (cli.folder / "shapes.txt").write_text("# two\n1,17,12,13,3,2\n2,3,9,9,4,4,5,1:2:1:2 # padded\n")
    document = cli.json("bench", "1,1,8,8,1,1", "--file", "shapes.txt", "--type", type_name, "--device", device,
                        "--repeat", 3, "--pad", 1)
    assert document["type"] == type_name
    assert document["device"].startswith(device)
    assert document["l2_cleared"] == (device == "cuda")
    results = document["results"]
    assert [r["shape"] for r in results] == ["1,1,8,8,1,1,1,1:1:1:1", "1,17,12,13,3,2,17,1:1:1:1", "2,3,9,9,4,4,5,1:2:1:2"]
    for result in results:
        assert result["right"] and result["checked"] == result["outputs"] > 0
        assert 0 <= result["worst_error_over_bound"] <= 1
        assert result["repeat"] == 3
        assert 0 < result["milliseconds_best"] <= result["milliseconds"]
        assert result["gflops"] == pytest.approx(result["operations"] / result["milliseconds"] * 1e-6)
    assert results[2]["outputs"] == 2 * 5 * 9 * 9
    assert results[2]["operations"] == 2 * (2 * 5 * 9 * 9) * (3 * 4 * 4)


@pytest.mark.parametrize("type_name", ["f32", "bf16"])
def test_bench_of_channels_last(cli, device, type_name):
    document = cli.json("bench", "2,5,9,8,3,3,16", "1,8,7,7,3,3,6,1:0:2:1", "--type", type_name, "--device", device,
                        "--layout", "nhwc", "--repeat", 1)
    assert document["layout"] == "nhwc"
    for result in document["results"]:
        assert result["right"] and result["checked"] == result["outputs"] > 0


def test_explain_of_channels_last(cli):
    arguments = ("explain", "2,16,9,9,3,3,16", "--type", "bf16", "--layout", "nhwc")
    document = cli.json(*arguments, "--device", "cuda", **NO_DRIVER)
    assert document["problem"]["layout"] == "nhwc" and document["conversion"] is None
    assert "_nhwc_" in document["variant"]["name"] and document["workspace_bytes"] == 0
    document = cli.json(*arguments, "--device", "cpu", **NO_DRIVER)
    assert document["conversion"]["x_bytes"] >= 2 * 2 * 16 * 9 * 9 <= document["minimum_workspace_bytes"]
    assert cli.refused(2, "explain", "1,1,3,3,1,1", "--layout", "hwcn").endswith("expected nchw or nhwc.\n")


def test_bench_text(cli, device):
    lines = cli.ok("bench", "1,2,8,8,3,3", "--device", device, "--repeat", 1).stdout.splitlines()
    assert lines[0].startswith(f"device {device}") and "type f32, math fp32" in lines[0]
    assert ("L2 cleared" in lines[0]) == (device == "cuda")
    assert lines[1].split()[:1] == ["B,C,H,W,KH,KW,C_out[,padding]"]
    assert lines[2].startswith("1,2,8,8,3,3,2 ") and lines[2].split()[-1].startswith("conv2d_")


def test_bench_goes_on_after_a_shape_that_fails(cli):
    document = cli.json("bench", "1,1,2,2,3,3", "1,1,8,8,3,3", "--device", "cpu", code=2)
    assert "OH would be 0" in document["results"][0]["error"]
    assert document["results"][1]["right"]


def test_bench_of_no_images(cli, device):
    result = cli.json("bench", "0,3,8,8,3,3", "--device", device, "--repeat", 1)["results"][0]
    assert result["right"] and result["outputs"] == 0 and result["operations"] == 0
