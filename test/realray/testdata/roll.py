"""Runs tasks on workers until /tmp/rolled exists on the head, and prints how many there were. A task whose worker goes is run again."""

import os
import time

import ray

ray.init()


@ray.remote(num_cpus=1, max_retries=-1)
def square(n):
    time.sleep(1)
    return n * n


done = 0
while not os.path.exists("/tmp/rolled"):
    batch = range(done, done + 3)
    assert ray.get([square.remote(n) for n in batch]) == [n * n for n in batch]
    done += len(batch)
print("tasks", done)
