"""The log survives whatever ends the process that writes it."""

import json
import multiprocessing
import random

import pytest
from hconv_tune.log import Log, LogError, identity, parse, read


def record(number, **other):
    fields = {"shape": "1,2,3,4,5,6,7", "pad": [0, 0, 0, 0], "type": "f32", "mode": "fp32", "layout": "nchw",
              "target": "cuda", "algorithm": "direct", "parameters": {"tile_oc": number}, "variant": f"v{number}",
              "device": {"name": "d", "threads": 0}, "build": {"source": "s"}, "round": 0}
    return {"kind": "measurement", "version": 1, "id": identity(fields), **fields, "status": "ok",
            "samples_ms": [1.0, 0.1 * number], "median_ms": 1.0, "reason": "a \"quoted\" name\nand a line", **other}


def decision(number):
    return {"kind": "decision", "shape": "1,2,3,4,5,6,7", "winner": f"v{number}", "incumbent": "v0", "verdict": "kept",
            "why": "because"}


RECORDS = [record(n) if n % 5 else decision(n) for n in range(40)]


def write(path, records):
    log = Log(path, notice=pytest.fail)
    for item in records:
        log.append(item)
    log.close()


def test_lines_are_objects_with_sorted_keys(tmp_path):
    write(tmp_path / "log", RECORDS)
    lines = (tmp_path / "log").read_text().splitlines()
    assert [json.loads(line) for line in lines] == RECORDS == read(tmp_path / "log")
    assert all(list(json.loads(line)) == sorted(json.loads(line)) for line in lines)


def test_a_log_cut_at_any_byte_goes_on_where_it_was(tmp_path):
    path = tmp_path / "log"
    write(path, RECORDS)
    whole, draw = path.read_bytes(), random.Random(1)
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
    cuts = {0, len(whole), *ends, *(end - 1 for end in ends), *(draw.randrange(len(whole)) for _ in range(60))}
    for cut in sorted(cuts):
        path.write_bytes(whole[:cut])
        notices = []
        log = Log(path, notices.append)
        complete = sum(end <= cut for end in ends)
        assert log.records == RECORDS[:complete]
        assert len(notices) == (cut not in (0, *ends))
        known = log.measurements()
        assert not any(item.get("id") in known for item in RECORDS[complete:])
        for item in RECORDS[complete:complete + 2]:
            log.append(item)
        log.close()
        assert path.read_bytes() == whole[:([0] + ends)[min(complete + 2, len(ends))]]


def test_a_last_line_of_garbage_is_dropped(tmp_path):
    path = tmp_path / "log"
    write(path, RECORDS[:3])
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0\0\0{\xff\n")
    notices = []
    Log(path, notices.append).close()
    assert path.read_bytes() == whole and "cut off" in notices[0]


@pytest.mark.parametrize("line, sentence", [
    (b"{", "not JSON"), (b"[1]", "no measurement and no decision"), (b'{"kind":"other"}', "no measurement"),
    (json.dumps({**record(1), "status": "fine"}).encode(), "The status is 'fine'"),
    (json.dumps({**record(1), "version": 2}).encode(), "The version is 2; expected 1."),
    (json.dumps({**decision(1), "verdict": "won"}).encode(), "The verdict is 'won'"),
    (json.dumps({key: value for key, value in record(1).items() if key != "shape"}).encode(), "lacks shape"),
])
def test_a_bad_line_elsewhere_is_named(tmp_path, line, sentence):
    path = tmp_path / "log"
    write(path, RECORDS[:2])
    path.write_bytes(path.read_bytes() + line + b"\n" + path.read_bytes())
    with pytest.raises(LogError, match="log:3: ") as told:
        Log(path)
    assert sentence in str(told.value)
    with pytest.raises(LogError):
        read(path)


def test_a_whole_last_line_of_another_kind_is_no_cut(tmp_path):
    with pytest.raises(LogError, match=":1: "):
        parse(b'{"kind":"other"}\n', "log")


def test_what_could_not_be_read_back_is_not_written(tmp_path):
    log = Log(tmp_path / "log")
    for bad in (record(1, status="fine"), record(1, median_ms=float("nan")), {"kind": "other"}):
        with pytest.raises(ValueError):
            log.append(bad)
    assert (tmp_path / "log").read_bytes() == b""


def _append(path, first):
    log = Log(path)
    for number in range(first, first + 50):
        log.append(record(number))


def test_processes_may_share_a_log(tmp_path):
    path = tmp_path / "log"
    processes = [multiprocessing.get_context("spawn").Process(target=_append, args=(path, first))
                 for first in (0, 100, 200)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    found = sorted(item["parameters"]["tile_oc"] for item in read(path))
    assert found == [*range(50), *range(100, 150), *range(200, 250)]


def test_the_identity_is_of_the_identifying_fields_only():
    one = record(1)
    assert identity({**one, "samples_ms": [], "when": "later"}) == one["id"]
    for key in ("shape", "type", "device", "build", "parameters", "round"):
        assert identity({**one, key: "another"}) != one["id"]
