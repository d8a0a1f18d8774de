"""Needs two CPUs at a time, where the cluster has one: the autoscaler has to add a worker."""
import ray

ray.init()


@ray.remote(num_cpus=1)
class Holder:
    def node(self):
        return ray.get_runtime_context().get_node_id()


holders = [Holder.remote() for _ in range(2)]
print("nodes", len(set(ray.get([h.node.remote() for h in holders]))), flush=True)
