"""Processes of a sweep on several GPUs: how many, and each on one. No GPU is needed: processes only name theirs."""

import os
import signal

import pytest
import torch
from conftest import refused

from attn_lab.runs import cards, processes

GB = 1 << 30


def test_so_many_processes_as_the_cards_have_memory_for(capsys):
    assert cards.fitting(5, [80 * GB]) == 5
    assert cards.fitting(14, [10 * GB]) == 3
    assert "3 of 14" in capsys.readouterr().err
    assert cards.fitting(14, [10 * GB, 7 * GB]) == 4, "dealt out in turn, so the fullest card counts"
    with refused("GB left"):
        cards.fitting(2, [80 * GB, 1 * GB])


@pytest.mark.parametrize(("asked", "numbers"), [("cuda", [0, 1, 2]), ("cuda:1", [1]), ("cpu", [])])
def test_the_cards_that_runs_may_use(asked, numbers, monkeypatch):
    monkeypatch.setattr(cards, "compute_device", lambda: asked)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda card: (card * GB, 80 * GB))
    assert cards.free_memory() == [number * GB for number in numbers]


def device_of(task: int) -> str:
    if task == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return os.environ["ATTN_DEVICE"]


@pytest.mark.faults
def test_each_process_has_a_card_of_its_own_also_when_it_is_started_again(monkeypatch):
    monkeypatch.setattr(cards, "free_memory", lambda: [80 * GB, 80 * GB])
    assert cards.devices(3) == ["cuda:0", "cuda:1", "cuda:0"]
    tasks = {0: [], 1: [], 2: [0, 1], 3: [2], 4: [2]}
    done = {}
    for task, future in processes.side_by_side(
        cards.devices(2), tasks, lambda pool, task: pool.submit(device_of, task)
    ):
        done[task] = "lost" if future.exception() else future.result()
    assert {done[0], done[1], done[3], done[4]} <= {"cuda:0", "cuda:1"}
    assert done[2] == "lost"
    monkeypatch.setattr(cards, "free_memory", lambda: [4 * GB])
    assert cards.devices(3) == [""]
