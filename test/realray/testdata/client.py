"""Connects to the Ray client port of the address given."""
import sys

import ray

ray.init(sys.argv[1])


@ray.remote(num_cpus=0)
def square(x):
    return x * x


print("client", ray.get(square.remote(9)), flush=True)
