"""cmake/manifest.py: what a line means, what it is called, and what is said about a wrong one."""

import json

import manifest
import pytest

TILE = "tile_oc=32 tile_ow=64 thread_oc=4 thread_ow=4 ic=8 kw_tile=4 kw=0 stages=3 warps=4"
PRODUCT_TILE = "tile_oc=64 tile_ow=64 thread_oc=4 thread_ow=8 ic=8 stages=3 warps=4"
WARP_TILE = "tile_oc=128 tile_ow=64 thread_oc=64 thread_ow=32 ic=32 kw_tile=1 kw=0 stages=4 warps=4"


def only(line):
    (variant,) = manifest.parse(line)
    return variant


def test_name_of_a_cuda_variant():
    assert only(f"direct f32 cuda {TILE}").name == "conv2d_direct_f32_oc32x64_t4x4_ic8_kwany_s3_w4_cuda"


def test_name_mentions_what_is_not_ordinary():
    line = f"direct bf16 cuda {TILE.replace('kw=0', 'kw=3').replace('kw_tile=4', 'kw_tile=1')} min_blocks=2"
    assert only(line).name == "conv2d_direct_bf16_oc32x64_t4x4_ic8_kw3_kt1_s3_w4_mb2_cuda"
    rows = f"direct f16 cuda {TILE.replace('warps=4', 'warps=8')} tile_oh=2"
    assert only(rows).name == "conv2d_direct_f16_oc32x64_r2_t4x4_ic8_kwany_s3_w8_cuda"


def test_name_of_cpu_and_pack_variants():
    assert only("direct f32 cpu_avx2 tile_oc=16 tile_ow=6 ic=1").name == "conv2d_direct_f32_oc16x6_ic1_kwany_cpu_avx2"
    assert [v.name for v in manifest.parse("pack b32,b16 cuda")] == ["pack_b32_cuda", "pack_b16_cuda"]


def test_name_of_a_tensor_core_variant_and_of_its_input_packing():
    assert [v.name for v in manifest.parse(f"mma bf16,f16 cuda {WARP_TILE}")] == [
        "conv2d_mma_bf16_oc128x64_t64x32_ic32_kwany_kt1_s4_w4_cuda",
        "conv2d_mma_f16_oc128x64_t64x32_ic32_kwany_kt1_s4_w4_cuda"]
    assert only(f"wgmma bf16 cuda {WARP_TILE}").name == "conv2d_wgmma_bf16_oc128x64_t64x32_ic32_kwany_kt1_s4_w4_cuda"
    assert only("pack_input b16 cuda").name == "pack_input_b16_cuda"


def test_the_layout_is_in_name_table_and_generator_params():
    nhwc = only(f"mma bf16 cuda {WARP_TILE} layout=nhwc")
    assert nhwc.name == "conv2d_mma_bf16_nhwc_oc128x64_t64x32_ic32_kwany_kt1_s4_w4_cuda"
    assert nhwc.generator_params()[-1] == "layout=nhwc" and nhwc.table_row().endswith(", 1, 2, 0, 0)")
    packing = only("pack_input b16 cuda layout=nhwc")
    assert packing.name == "pack_input_b16_nhwc_cuda" and packing.generator_params() == ["bits=16", "layout=nhwc"]
    nchw = only(f"mma bf16 cuda {WARP_TILE}")
    assert only(f"mma bf16 cuda {WARP_TILE} layout=nchw").name == nchw.name
    assert not any("layout" in word for word in nchw.generator_params()) and nchw.table_row().endswith(", 0, 2, 0, 0)")
    wide = only(f"mma bf16 cuda {WARP_TILE} store_bytes=16")
    assert wide.name == "conv2d_mma_bf16_oc128x64_t64x32_ic32_kwany_kt1_y16_s4_w4_cuda"
    assert wide.table_row().endswith(", 0, 16, 0, 0)") and "store_bytes=16" in wide.generator_params()
    shared = only(f"wgmma bf16 cuda {WARP_TILE} a_shared=1")
    assert shared.name == "conv2d_wgmma_bf16_oc128x64_t64x32_ic32_kwany_kt1_ss_s4_w4_cuda"
    assert shared.table_row().endswith(", 0, 2, 0, 1)") and "a_shared=1" in shared.generator_params()
    assert only("transpose b16 cpu").functions() == [("transpose_b16_cpu", "transpose")]


def test_tensor_core_variants_count_warps_instead_of_threads():
    rows = WARP_TILE.replace("warps=4", "warps=8") + " tile_oh=4 thread_oh=2"
    assert only(f"mma bf16 cuda {rows}").params["warps"] == 8
    assert only(f"mma bf16 cuda {rows}").generator_params()[:4] == ["type=bfloat16", "tile_oc=128", "tile_ow=64",
                                                                   "tile_oh=4"]


def test_name_of_transform_and_product_variants():
    assert [v.name for v in manifest.parse("transform f32,bf16 cuda fft_h=32 fft_w=16")] == [
        "conv2d_transform_f32_fft32x16_cuda", "conv2d_transform_bf16_fft32x16_cuda"]
    assert only(f"spectral_product f32 cuda {PRODUCT_TILE}").name == "spectral_product_f32_oc64x64_t4x8_ic8_s3_w4_cuda"
    assert only(f"spectral_product f32 cuda {PRODUCT_TILE} min_blocks=2 unroll_ic=4").name == (
        "spectral_product_f32_oc64x64_t4x8_ic8_u4_s3_w4_mb2_cuda")
    assert only(f"spectral_product f32 cuda {PRODUCT_TILE} products=3 sum_ic=64").name == (
        "spectral_product_f32_oc64x64_t4x8_ic8_p3_b64_s3_w4_cuda")
    assert only("spectral_product f32 cpu_avx512 tile_oc=8 tile_ow=16 ic=1").name == (
        "spectral_product_f32_oc8x16_ic1_cpu_avx512")


def test_a_transform_variant_is_three_functions_of_one_row():
    variant = only("transform bf16 cpu_avx2 fft_h=16 fft_w=64")
    name = "conv2d_transform_bf16_fft16x64_cpu_avx2"
    assert variant.functions() == [(f"{name}_input", "spectrum_input"), (f"{name}_weights", "spectrum_weights"),
                                   (f"{name}_output", "spectrum_output")]
    assert variant.generator_params() == ["type=bfloat16", "fft_h=16", "fft_w=64"]
    assert variant.table_row() == f"HCONV_VARIANT({name}, transform, bf16, cpu_avx2, " + "0, " * 14 + "16, 64, 0, 0, 0, 0, 0, 0)"
    calls = manifest.to_cmake([variant])
    assert calls.count("hconv_variant(") == 3
    assert f"hconv_variant({name}_output transform bf16 cpu_avx2 spectrum_output\n" in calls
    assert json.loads(manifest.to_json([variant]))[0]["functions"] == [f"{name}_input", f"{name}_weights",
                                                                      f"{name}_output"]


def test_generators_of_the_algorithms():
    text = (f"pack b32 cuda\npack_input b16 cuda\ndirect f32 cuda {TILE}\nmma f16 cuda {WARP_TILE}\n"
            f"spectral_product f32 cuda {PRODUCT_TILE}")
    variants = manifest.parse(text)
    assert [v.functions() for v in variants] == [[(v.name, generator)] for v, generator in zip(
        variants, ["pack_weights", "pack_input", "conv2d_direct", "conv2d_mma", "spectral_product"])]
    assert variants[4].generator_params() == [
        "type=float32", "tile_oc=64", "tile_ow=64", "thread_oc=4", "thread_ow=8", "ic=8", "stages=3", "warps=4",
        "min_blocks=1", "unroll_ic=1", "products=4", "sum_ic=0"]
    assert variants[1].generator_params() == ["bits=16"]
    assert only("sum_parts bf16 cuda").generator_params() == ["type=bfloat16"]
    split = only(f"direct f32 cuda {TILE} split=1")
    assert split.generator_params() == only(f"direct f32 cuda {TILE}").generator_params() + ["split=1"]
    assert split.name == only(f"direct f32 cuda {TILE}").name.replace("_cuda", "_split_cuda")
    assert split.table_row().endswith(", 1, 0)")
    assert "(pack_input_b16_cuda pack_input b16 cuda pack_input\n" in manifest.to_cmake(variants)
    assert variants[1].table_row().startswith("HCONV_VARIANT(pack_input_b16_cuda, pack_input, b16, cuda, 0, ")


def test_each_key_alone_makes_another_name():
    base = {"tile_oc": 32, "tile_ow": 64, "tile_oh": 1, "thread_oc": 4, "thread_ow": 4, "ic": 8, "kw_tile": 4, "kw": 0,
            "stages": 3, "warps": 4, "min_blocks": 1, "thread_oh": 1, "kh_tile": 1, "unroll_ic": 1}
    assert set(base) == set(manifest.KEYS) - {"fft_h", "fft_w", "products", "sum_ic", "layout", "store_bytes", "split",
                                              "a_shared"}
    names = {manifest.variant_name("direct", "f32", "cuda", base)}
    for key in base:
        names.add(manifest.variant_name("direct", "f32", "cuda", {**base, key: base[key] + 1}))
    assert len(names) == 1 + len(base)
    product = {key: {**base, **manifest.DEFAULTS}[key] for key in manifest.ALGORITHMS["spectral_product"].allowed}
    names = {manifest.variant_name("spectral_product", "f32", "cuda", product)}
    for key in product:
        names.add(manifest.variant_name("spectral_product", "f32", "cuda", {**product, key: product[key] + 1}))
    assert len(names) == 1 + len(product)


def test_types_of_a_line_in_order_and_lines_in_order():
    text = f"# comment\n\npack b16 cpu # trailing\ndirect f16,f32 cuda {TILE}\n"
    assert [(v.algorithm, v.type) for v in manifest.parse(text)] == [("pack", "b16"), ("direct", "f16"),
                                                                    ("direct", "f32")]


def test_generator_params_spell_the_type_for_halide():
    assert only(f"direct bf16 cuda {TILE}").generator_params() == [
        "type=bfloat16", "tile_oc=32", "tile_ow=64", "tile_oh=1", "thread_oc=4", "thread_ow=4", "ic=8", "kw_tile=4",
        "kw=0", "stages=3", "warps=4", "min_blocks=1", "thread_oh=1", "kh_tile=1",
        "unroll_ic=1"]
    assert only("pack b16 cpu").generator_params() == ["bits=16"]


def test_table_row_has_zero_for_what_a_variant_does_not_have():
    assert only("pack b32 cuda").table_row() == "HCONV_VARIANT(pack_b32_cuda, pack, b32, cuda, " + "0, " * 21 + "0)"
    assert only("direct f32 cpu_avx2 tile_oc=16 tile_ow=6 ic=1").table_row() == (
        "HCONV_VARIANT(conv2d_direct_f32_oc16x6_ic1_kwany_cpu_avx2, direct, f32, cpu_avx2, "
        "16, 6, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)")


def test_halide_targets_say_which_backend():
    assert "no_bounds_query" in only(f"direct f32 cuda {TILE}").halide_target
    assert "no_bounds_query" not in only(f"direct f32 halide_ptx {TILE}").halide_target
    assert "cuda" not in only("pack b32 cpu").halide_target


@pytest.mark.parametrize("line, sentence", [
    ("direct f32", "The line has 2 word(s)"),
    (f"winograd f32 cuda {TILE}", "The algorithm is 'winograd', expected one of direct, mma, pack, "
     "pack_input, spectral_product, sum_parts, transform, transpose, wgmma."),
    (f"direct f64 cuda {TILE}", "A type of 'direct' is 'f64', expected one of bf16, f16, f32."),
    (f"direct f32,f32 cuda {TILE}", "The type 'f32' is given twice."),
    (f"direct f32, cuda {TILE}", "A type of 'direct' is ''"),
    (f"direct f32 cpu {TILE}", "The target of 'direct' is 'cpu', expected one of cpu_avx2, cpu_avx512"),
    (f"direct f32 cuda {TILE} colour=3", "The key is 'colour'"),
    (f"direct f32 cuda {TILE} warps=4", "The key 'warps' is given twice."),
    (f"direct f32 cuda {TILE} fast", "'fast' is not a key=value pair."),
    (f"direct f32 cuda {TILE.replace('ic=8', 'ic=0')}", "ic is '0', expected a whole number of at least 1."),
    (f"direct f32 cuda {TILE.replace('kw=0', 'kw=-1')}", "kw is '-1', expected a whole number of at least 0."),
    (f"direct f32 cuda {TILE.replace('ic=8', 'ic=2.5')}", "ic is '2.5'"),
    (f"direct f32 cuda {TILE.replace('stages=3', '')}", "The 'direct' variant for cuda needs stages."),
    (f"direct f32 cuda {TILE.replace('warps=4', 'warps=8')}", "The tiles make 128 threads, but warps=8 are 256."),
    (f"direct f32 cuda {TILE.replace('thread_oc=4', 'thread_oc=5')}", "tile_oc is 32, expected a multiple of thread_oc=5"),
    ("pack b32 cuda ic=8", "A pack variant takes no keys, but 'ic' is given."),
    ("pack_input b16 cuda ic=8", "A pack_input variant takes no ic; it takes layout."),
    ("pack_input b16 cuda layout=nwhc", "layout is 'nwhc', expected one of nchw, nhwc."),
    (f"direct f32 cuda {TILE} layout=nhwc", "A direct variant takes no layout; it takes tile_oc, "),
    (f"wgmma bf16 cuda {WARP_TILE} layout=1", "layout is '1', expected one of nchw, nhwc."),
    ("pack_input b32 cuda", "A type of 'pack_input' is 'b32', expected one of b16."),
    ("pack_input b16 cpu", "The target of 'pack_input' is 'cpu', expected one of cuda."),
    (f"direct f32 cuda {TILE} split=2", "split is 2, expected 1."),
    (f"direct f32 cuda {TILE} split=0", "split is '0', expected a whole number of at least 1."),
    ("direct f32 cpu_avx2 tile_oc=16 tile_ow=6 ic=1 split=1", "split is given, expected only in direct and mma variants "
     "for cuda, not direct for cpu_avx2."),
    (f"wgmma bf16 cuda {WARP_TILE} a_shared=2", "a_shared is 2, expected 1."),
    (f"mma bf16 cuda {WARP_TILE} a_shared=1", "A mma variant takes no a_shared"),
    (f"wgmma bf16 cuda {WARP_TILE} split=1", "not wgmma for cuda."),
    ("sum_parts b32 cuda", "A type of 'sum_parts' is 'b32', expected one of bf16, f16, f32."),
    ("sum_parts f32 cpu", "The target of 'sum_parts' is 'cpu', expected one of cuda."),
    (f"mma f32 cuda {WARP_TILE}", "A type of 'mma' is 'f32', expected one of bf16, f16."),
    (f"mma bf16 cpu_avx2 {WARP_TILE}", "The target of 'mma' is 'cpu_avx2', expected one of cuda."),
    (f"mma bf16 cuda {WARP_TILE.replace('warps=4', 'warps=8')}", "The tiles make 4 warps, but warps=8."),
    (f"direct f32 cuda {TILE} fft_h=32", "A direct variant takes no fft_h; it takes tile_oc, tile_ow, tile_oh, "),
    ("transform f32 cuda fft_h=32", "The 'transform' variant for cuda needs fft_w."),
    ("transform f32 cuda fft_h=24 fft_w=32", "fft_h is 24, expected a power of two from 8 to 64."),
    ("transform f32 cuda fft_h=32 fft_w=128", "fft_w is 128, expected a power of two from 8 to 64."),
    ("transform f32 cuda fft_h=32 fft_w=32 ic=8", "A transform variant takes no ic; it takes fft_h, fft_w."),
    ("transform f32 halide_ptx fft_h=32 fft_w=32", "The target of 'transform' is 'halide_ptx', expected one of cpu_avx2"),
    ("transform b32 cuda fft_h=32 fft_w=32", "A type of 'transform' is 'b32', expected one of bf16, f16, f32."),
    (f"spectral_product bf16 cuda {PRODUCT_TILE}", "A type of 'spectral_product' is 'bf16', expected one of f32."),
    (f"spectral_product f32 cuda {PRODUCT_TILE} kw=0", "A spectral_product variant takes no kw; it takes tile_oc, "),
    (f"spectral_product f32 cuda {PRODUCT_TILE} products=2", "products is 2, expected 3 or 4."),
    (f"spectral_product f32 cuda {PRODUCT_TILE} sum_ic=12", "sum_ic is 12, expected a multiple of ic=8."),
    (f"spectral_product f32 cuda {PRODUCT_TILE.replace('warps=4', 'warps=2')}",
     "The tiles make 128 threads, but warps=2 are 64."),
    (f"mma bf16 cuda {WARP_TILE} thread_oh=2", "tile_oh is 1, expected a multiple of thread_oh=2."),
])
def test_wrong_line_is_named(line, sentence):
    with pytest.raises(manifest.ManifestError) as error:
        manifest.parse("pack b32,b16 cpu\n\n" + line, "dir/variants.txt")
    assert str(error.value).startswith("dir/variants.txt:3: ")
    assert sentence in str(error.value)


def test_same_variant_twice_names_the_first_line():
    with pytest.raises(manifest.ManifestError, match=r"^v:2: The variant pack_b32_cpu was already given in line 1\.$"):
        manifest.parse("pack b32 cpu\npack b16,b32 cpu", "v")


def test_empty_manifest():
    with pytest.raises(manifest.ManifestError, match="names no variant"):
        manifest.parse("# nothing\n", "v")


def test_command_line_writes_three_files_and_leaves_unchanged_ones_alone(tmp_path, capsys):
    source, out = tmp_path / "variants.txt", tmp_path / "out"
    source.write_text(f"pack b32 cuda\ndirect f32 cuda {TILE}\n")
    assert manifest.main([str(source), str(out)]) == 0
    rows = json.loads((out / "variants.json").read_text())
    assert [row["name"] for row in rows] == ["pack_b32_cuda", "conv2d_direct_f32_oc32x64_t4x4_ic8_kwany_s3_w4_cuda"]
    assert rows[1]["tile_ow"] == 64 and rows[1]["kw"] == 0
    assert (out / "variants.inc").read_text().count("\nHCONV_VARIANT(") == 2
    assert (out / "variants.cmake").read_text().count("hconv_variant(") == 2
    before = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    assert manifest.main([str(source), str(out)]) == 0
    assert before == {path.name: path.stat().st_mtime_ns for path in out.iterdir()}

    source.write_text("pack b64 cuda\n")
    assert manifest.main([str(source), str(out)]) == 1
    assert capsys.readouterr().err.startswith(f"{source}:1: A type of 'pack' is 'b64'")


def test_the_project_manifest_covers_every_type_on_every_kind_of_device(root):
    variants = manifest.parse((root / "schedules/variants.txt").read_text())
    have = {(v.algorithm, v.type, v.target) for v in variants}
    for target in ("cuda", "cpu_baseline", "cpu_avx2", "cpu_avx512"):
        assert {("direct", type, target) for type in manifest.FLOAT_TYPES} <= have
    assert {(algorithm, type, target) for algorithm in ("pack", "transpose") for type in manifest.BIT_TYPES
            for target in ("cuda", "cpu")} <= have


@pytest.mark.parametrize("tile", [(32, 64, 3, 4), (64, 32, 3, 8), (64, 64, 4, 8), (32, 128, 3, 4), (64, 128, 4, 8)])
def test_the_project_manifest_has_the_seed_tiles(root, tile):
    variants = manifest.parse((root / "schedules/variants.txt").read_text())
    keys = ("tile_oc", "tile_ow", "stages", "warps")
    found = {v.type for v in variants if v.target == "cuda" and v.algorithm == "direct"
             and tuple(v.params[key] for key in keys) == tile}
    assert found == set(manifest.FLOAT_TYPES)
