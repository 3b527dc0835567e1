"""Which samples count: a busy processor and a slowed-down GPU are seen, and what they disturbed is left out."""

import types

import pytest
from hconv_measure.clocks import ProcessorClock
from hconv_measure.shapes import parse_shape
from hconv_tune import machine, worker
from hconv_tune.problem import Problem

PROBLEM = Problem(parse_shape("1,4,10,14,3,3"), "f32", "fp32", "cuda")


def request(**other):
    return worker.Request("", "v", "direct", PROBLEM, "", "", **other)


class Gpu:
    """A clock and nvidia-smi in one: `states` are (MHz, reasons of throttling) of the batches."""

    def __init__(self, states):
        self.states, self.batches = list(states), 0

    def samples(self, calls, count):
        return [float(self.batches)] * count

    def query(self):
        sm, reasons = self.states[min(self.batches, len(self.states) - 1)]
        self.batches += 1
        return types.SimpleNamespace(communicate=lambda: (f"{sm}, 1980, {reasons}, 580.159\n", None))


@pytest.mark.parametrize("states, accepted, rejected", [
    ([(1980, "0x0")], {1, 2, 3}, 0),
    ([(1980, "0x4")], {1, 2, 3}, 0),                                       # the cap of power alone
    ([(1980, "0x0"), (1980, "0x40"), (1980, "0x0"), (1980, "0x0")], {1, 3, 4}, 9),
    ([(1400, "0x0"), (1980, "0x0"), (1975, "0x0"), (1980, "0x0")], {2, 3, 4}, 9),
    ([(1980, "0x20")], set(), 54),
])
def test_batches_of_a_throttled_gpu_are_rejected(states, accepted, rejected):
    gpu = Gpu(states)
    samples, left_out = worker.time_on_gpu(request(), [None], gpu, gpu.query)
    assert (set(samples), left_out) == (accepted, rejected)
    assert len(samples) == 9 * len(accepted)


def test_a_slow_one_is_timed_briefly():
    gpu = Gpu([(1980, "0x0")])
    samples, _ = worker.time_on_gpu(request(give_up_ms=-1.0), [None], gpu, gpu.query)
    assert len(samples) == worker.LEAST_SAMPLES


def test_without_nvidia_smi_all_samples_count():
    assert len(worker.time_on_gpu(request(), [None], Gpu([(1, "0x0")]), lambda: None)[0]) == 27


@pytest.mark.parametrize("text", ["", "N/A, N/A, 0x0, 1", "1980, 1980"])
def test_what_nvidia_smi_does_not_tell_is_nothing(text):
    assert machine.read_gpu_query(text) == {}


class Processor(ProcessorClock):
    """Every other sample is interrupted."""

    def __init__(self):
        super().__init__(1)
        self.count = 0

    def sample(self, call, repeats):
        self.count += 1
        return 1.0 + self.count / 1000, 20 * (self.count % 2)


def test_interrupted_samples_are_rejected():
    samples, rejected = worker.time_on_cpu(request(runs=10), [None], Processor())
    assert len(samples) == 10 and rejected in (9, 10)


def test_processor_time_is_of_this_process():
    clock, total = ProcessorClock(1), []
    ms, _ = clock.sample(lambda: total.append(sum(range(20000))), 20)
    assert len(total) == 20 and 0.01 < ms < 1000
    import time
    assert clock.sample(lambda: time.sleep(0.02), 1)[0] < 10
    assert ProcessorClock(2).sample(lambda: time.sleep(0.02), 1)[0] >= 20


@pytest.mark.parametrize("flags, target", [
    ("sse avx2 fma f16c avx512f avx512cd avx512bw avx512dq avx512vl", "cpu_avx512"), ("avx2 fma f16c avx512f", "cpu_avx2"),
    ("avx2 fma", "cpu_baseline")])
def test_the_best_target_of_a_processor(flags, target):
    assert machine.best_cpu_target(flags) == target


def test_architectures_have_the_tables_names():
    assert [machine.arch_name(*c) for c in ((9, 0), (8, 0), (12, 0))] == ["sm_90a", "sm_80", "sm_120"]


def test_the_hash_of_sources_sees_each_file_and_no_list_of_variants(tmp_path):
    for folder in ("codegen", "generators", "schedules"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.cpp").write_text(folder)
    before = machine.source_hash(tmp_path)
    (tmp_path / "schedules" / "variants.txt").write_text("x")
    assert machine.source_hash(tmp_path) == before
    (tmp_path / "codegen" / "a.cpp").write_text("other")
    assert machine.source_hash(tmp_path) != before
