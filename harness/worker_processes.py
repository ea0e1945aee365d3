"""Processes that share the work of a command, and end with it, however it ends."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from threading import Thread


def worker_processes(count: int, *, tasks_each: int | None = None) -> ProcessPoolExecutor:
    """Return a pool of so many processes. A command that is killed takes them along."""
    return ProcessPoolExecutor(
        count, get_context("spawn"), initializer=_follow_parent, max_tasks_per_child=tasks_each
    )


def _follow_parent() -> None:
    """End this process when its parent has ended: a killed parent does not say so to its pool."""
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "a process of a pool has a parent"
    parent.join()
    os._exit(1)
