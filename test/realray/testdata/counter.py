"""An actor that outlives its driver: `counter.py start` makes it, `counter.py` counts one further."""
import sys

import ray

ray.init(namespace="counter")


@ray.remote(num_cpus=0, resources={"worker": 0.1}, max_restarts=0)
class Counter:
    def __init__(self):
        self.n = 0

    def count(self):
        self.n += 1
        return self.n


if sys.argv[1:] == ["start"]:
    counter = Counter.options(name="counter", lifetime="detached").remote()
else:
    counter = ray.get_actor("counter")
print("counted", ray.get(counter.count.remote(), timeout=60), flush=True)
