"""Which samples count: a busy processor and a slowed-down GPU are seen, and what they disturbed is left out."""

import pytest
from hconv_measure.clocks import ProcessorClock
from hconv_measure.shapes import parse_shape
from hconv_tune import machine, nvml, worker
from hconv_tune.problem import Problem

PROBLEM = Problem(parse_shape("1,4,10,14,3,3"), "f32", "fp32", "cuda")


def request(**other):
    return worker.Request("", "v", "direct", PROBLEM, "", "", **other)


class Gpu:
    """A clock and its state in one: `states` are (MHz, throttled) of the batches, `ms` what a run takes."""

    def __init__(self, states, ms=None):
        self.states, self.batches, self.ms = list(states), 0, ms

    def samples(self, calls, count, during=None):
        if during:
            during()
        return [self.ms or float(self.batches)] * count

    def state(self):
        sm, throttled = self.states[min(self.batches, len(self.states) - 1)]
        self.batches += 1
        return {"sm": sm, "max_sm": 1980, "throttled": throttled, "driver": "580.159"}


@pytest.mark.parametrize("states, accepted, rejected", [
    ([(1980, False)], {1, 2, 3}, 0),
    ([(1980, False), (1980, True), (1980, False), (1980, False)], {1, 3, 4}, 9),
    ([(1400, False), (1980, False), (1975, False), (1980, False)], {2, 3, 4}, 9),
    ([(1980, True)], set(), 54),
])
def test_batches_of_a_throttled_gpu_are_rejected(states, accepted, rejected):
    gpu = Gpu(states)
    samples, left_out = worker.time_on_gpu(request(), [None], gpu, gpu.state)
    assert (set(samples), left_out) == (accepted, rejected)
    assert len(samples) == 9 * len(accepted)


def test_what_is_slower_than_worth_it_is_timed_for_one_batch():
    gpu = Gpu([(1980, False)], ms=1.6)
    samples, _ = worker.time_on_gpu(request(give_up_ms=1.5), [None], gpu, gpu.state)
    assert len(samples) == worker.LEAST_SAMPLES + 2 and gpu.batches == 1
    throttled = Gpu([(1980, True), (1980, False)], ms=1.6)  # the batch that decides has to be a good one
    samples, left_out = worker.time_on_gpu(request(give_up_ms=1.5), [None], throttled, throttled.state)
    assert len(samples) == left_out == worker.LEAST_SAMPLES + 2 and throttled.batches == 2


def test_without_a_state_all_samples_count():
    assert len(worker.time_on_gpu(request(), [None], Gpu([(1, False)]), dict)[0]) == 27


class Library:
    """NVML's functions, of one GPU that gives these."""

    def __init__(self, reasons, missing=""):
        self.reasons, self.asked = reasons, []
        if missing:
            setattr(self, missing, None)

    def __getattribute__(self, name):
        if name.startswith("nvml") and name in object.__getattribute__(self, "__dict__"):
            raise AttributeError(name)
        return object.__getattribute__(self, name)

    def nvmlInit_v2(self):
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index, device):
        self.asked.append(index.value)
        return 0

    def nvmlDeviceGetHandleByUUID(self, uuid, device):
        self.asked.append(uuid)
        return 0

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, device, reasons):
        reasons._obj.value = self.reasons
        return 0

    def nvmlSystemGetDriverVersion(self, text, size):
        text.value = b"580.159"
        return 0

    def nvmlDeviceGetClockInfo(self, device, kind, clock):
        clock._obj.value = 1755
        return 0 if kind.value == 1 else 2

    def nvmlDeviceGetMaxClockInfo(self, device, kind, clock):
        clock._obj.value = 1980
        return 0 if kind.value == 1 else 2


@pytest.mark.parametrize("reasons, throttled", [(0, False), (4, False), (0x40, True), (0x20 | 4, True), (8, True)])
def test_the_state_is_nvmls(reasons, throttled):
    """The cap of power alone (4) is no throttling."""
    assert nvml.Nvml(Library(reasons)).state() == {"sm": 1755, "max_sm": 1980, "throttled": throttled, "driver": "580.159"}


def test_an_nvml_that_lacks_something_is_not_used():
    for name in ("nvmlInit_v2", "nvmlDeviceGetClockInfo", "nvmlDeviceGetCurrentClocksThrottleReasons"):
        with pytest.raises(OSError, match=name):
            nvml.Nvml(Library(0, missing=name))
    failing = Library(0)
    failing.nvmlSystemGetDriverVersion = None
    with pytest.raises(OSError):
        nvml.Nvml(failing)


@pytest.mark.parametrize("visible, asked", [(None, 0), ("", 0), ("2,3", 2), ("GPU-abc", b"GPU-abc"), ("MIG-x", 0)])
def test_the_gpu_is_the_first_visible_one(visible, asked):
    library = Library(0)
    nvml.Nvml(library, *nvml.chosen(visible))
    assert library.asked == [asked]


def test_nvidia_smi_serves_where_nvml_is_not_found(monkeypatch):
    class Smi:
        @staticmethod
        def communicate():
            return "1755, 1980, 0x40, 580.159\n", None

    monkeypatch.setattr(nvml, "_NAMES", ("libnothing-of-this-name.so.1",))
    monkeypatch.setattr(machine, "start_gpu_query", lambda device: Smi)
    nvml._opened.cache_clear()
    assert nvml.gpu_state() == {"sm": 1755, "max_sm": 1980, "throttled": True, "driver": "580.159"}
    monkeypatch.setattr(machine, "start_gpu_query", lambda device: None)
    assert nvml.gpu_state() == {}
    nvml._opened.cache_clear()


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
