"""Calls side by side in processes of this machine. They talk through pipes: nobody else can reach them by a port."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context, parent_process
from typing import Any


def begin(device: str) -> None:
    """What a process begins with: an end as soon as its parent's comes, a device, and one thread for its sums."""

    def end_with_parent() -> None:
        if parent := parent_process():
            parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    if device:
        os.environ["ATTN_DEVICE"] = device
    import torch  # takes seconds, in which the parent may end
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    torch.set_num_threads(1)


def one_process(device: str) -> ProcessPoolExecutor:
    """A process that begins anew, without the threads and locks of this one."""
    return ProcessPoolExecutor(1, get_context("spawn"), begin, (device,))


def side_by_side(
    devices: list[str], needed: dict, start: Callable[[ProcessPoolExecutor, Any], Future]
) -> Iterator[tuple[Any, Future]]:
    """Do all tasks, in one process for each device; yields each that is done and its future, which has an error where
    the process was lost: the next takes its place.

    devices: ATTN_DEVICE, '' for that of this process. needed: task -> tasks that come before it. start: submits a task.
    """
    waiting = list(needed)
    running: dict[Future, tuple[Any, int]] = {}
    processes = [one_process(device) for device in devices]
    idle = list(range(len(devices)))
    try:
        while waiting or running:
            undone = {*waiting, *(task for task, _ in running.values())}
            ready = [task for task in waiting if undone.isdisjoint(needed[task])]
            for task in ready[: len(idle)]:
                number = idle.pop()
                waiting.remove(task)
                running[start(processes[number], task)] = task, number
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task, number = running.pop(future)
                if future.exception():
                    processes[number] = one_process(devices[number])
                idle.append(number)
                yield task, future
    finally:
        for process in processes:
            process.shutdown(wait=False, cancel_futures=True)
