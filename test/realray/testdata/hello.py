"""Runs a task on whatever node has a CPU."""
import os
import sys

import ray

ray.init()


@ray.remote(num_cpus=0)
def square(x):
    return x * x


print("ray", ray.__version__, "says", os.environ.get("GREETING", "hello"), ray.get(square.remote(7)), flush=True)
sys.exit(int(os.environ.get("EXIT_CODE", "0")))
