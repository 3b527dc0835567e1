"""PyTorch tensors through the binding, where PyTorch is installed."""

import hconv
import pytest

torch = pytest.importorskip("torch")
DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.float16))
def test_integers_are_exact(device, dtype):
    x = torch.randint(-3, 4, (2, 3, 9, 11), device=device)
    w = torch.randint(-1, 2, (5, 3, 3, 4), device=device)
    y = hconv.conv2d(x.to(dtype), w.to(dtype), padding=1)
    expected = torch.nn.functional.conv2d(x.double(), w.double(), padding=1)
    assert y.dtype == dtype and y.device == x.device
    assert torch.equal(y.double(), expected)


@pytest.mark.parametrize("device", DEVICES)
def test_plan(device):
    x = torch.randint(-3, 4, (2, 3, 9, 11), device=device).float()
    w = torch.randint(-3, 4, (5, 3, 3, 4), device=device).float()
    plan = hconv.Plan.for_arrays(x, w)
    run = plan.prepare(x, plan.pack(w))
    run.out.fill_(float("nan"))
    assert torch.equal(run().double(), torch.nn.functional.conv2d(x.double(), w.double()))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.float16))
@pytest.mark.parametrize("channels", ((3, 5), (8, 16), (1, 8)))
def test_channels_last_stays_channels_last(device, dtype, channels):
    x = torch.randint(-3, 4, (2, channels[0], 9, 11), device=device).to(dtype)
    w = torch.randint(-1, 2, (channels[1], channels[0], 3, 4), device=device).to(dtype)
    last = torch.channels_last
    y = hconv.conv2d(x.to(memory_format=last), w.to(memory_format=last), padding=1)
    assert torch.equal(y.double(), torch.nn.functional.conv2d(x.double(), w.double(), padding=1))
    assert y.is_contiguous(memory_format=last) == (channels[0] > 1)  # one channel of x could be in either
    y.fill_(float("nan"))
    packed = (plan := hconv.Plan.for_arrays(x.to(memory_format=last), w)).pack(w)
    assert plan.run(x.to(memory_format=last), packed).is_contiguous(memory_format=last) == (channels[0] > 1)


@pytest.mark.parametrize("device", DEVICES)
def test_one_layout_for_x_and_y(device):
    x = torch.ones(2, 3, 9, 11, device=device).contiguous(memory_format=torch.channels_last)
    with pytest.raises(hconv.Unsupported, match="y is laid out as NCHW .* expected NHWC"):
        hconv.conv2d(x, torch.ones(5, 3, 3, 4, device=device), out=torch.empty(2, 5, 7, 8, device=device))


@pytest.mark.skipif("cuda" not in DEVICES, reason="needs a GPU")
def test_current_stream_is_used():
    x, w = torch.ones(1, 8, 64, 64, device="cuda"), torch.ones(8, 8, 3, 3, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        x.fill_(2.0)
        y = hconv.conv2d(x, w)
    stream.synchronize()
    assert torch.all(y == 8 * 9 * 2.0)


@pytest.mark.skipif("cuda" not in DEVICES, reason="needs a GPU")
def test_memory_is_kept_until_the_named_stream_is_done():
    x = torch.ones(1, 32, 64, 64, device="cuda", dtype=torch.bfloat16)
    w = torch.ones(8, 32, 3, 3, device="cuda", dtype=torch.bfloat16)
    plan, stream = hconv.Plan.for_arrays(x, w), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
    y = plan.run(x, plan.pack(w, stream=stream.cuda_stream), stream=stream.cuda_stream)
    scribbled = [torch.full_like(x, float("nan")) for _ in range(8)]  # over packed weights and workspace, if it may
    stream.synchronize()
    assert torch.all(y == 32 * 9.0) and len(scribbled) == 8
