"""An application with the deployments of the one that samples of RayServices download. It is here because the tests have no internet."""
from ray import serve


@serve.deployment
class Stand:
    def __init__(self, price):
        self.price = price

    def check_price(self, amount):
        return self.price * amount


@serve.deployment
class FruitMarket:
    def __init__(self, mango, orange, pear):
        self.stands = {"MANGO": mango, "ORANGE": orange, "PEAR": pear}

    async def __call__(self, request):
        fruit, amount = await request.json()
        return await self.stands[fruit].check_price.remote(amount)


prices = {"MangoStand": 3, "OrangeStand": 2, "PearStand": 4}
deployment_graph = FruitMarket.bind(*[Stand.options(name=name).bind(price) for name, price in prices.items()])
