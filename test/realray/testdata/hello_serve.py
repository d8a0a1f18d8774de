"""The application that RayServices of the tests serve. Its answer tells what it was made of."""
import os

from ray import serve


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0.1})
class Hello:
    def __init__(self):
        self.words = "nothing"

    def reconfigure(self, config):
        self.words = config["words"]

    async def __call__(self, request):
        if os.environ.get("RELEASE") == "broken":
            raise RuntimeError("this release is broken")
        return {"words": self.words, "release": os.environ.get("RELEASE", "")}


app = Hello.bind()
