"""Shares the one GPU of the cluster between two, which see the same device, and asks for two, which it never gets."""
import os

import ray

ray.init()


@ray.remote(num_gpus=0.5, num_cpus=0)
class Half:
    def visible(self):
        return os.environ["CUDA_VISIBLE_DEVICES"]


@ray.remote(num_gpus=2, num_cpus=0)
def two():
    return "ran"


halves = [Half.remote() for _ in range(2)]
print("halves", ",".join(ray.get([h.visible.remote() for h in halves])), flush=True)
ready, pending = ray.wait([two.remote()], timeout=30)
print("two", "ran" if ready else "pending", flush=True)
