import carrier
import pytest
from shop import app, order, paid


@pytest.fixture
def harness(windlass_harness):
    windlass_harness.use(app)
    return windlass_harness


async def test_nobody_pays(harness):
    assert await harness.run(order, "telescope") == "telescope: not paid"  # every wait is skipped


async def test_ann_says_no(harness):
    handle = await harness.start(order, "telescope")
    await harness.idle()  # everything that can happen now has happened: it waits for its payment
    await handle.send(paid, 420)
    await harness.idle()
    await harness.advance("47h")
    await handle.reject(by="ann")
    await harness.idle()
    assert await handle.result() == "telescope: rejected"


async def test_with_another_carrier(harness):
    harness.replace(carrier.ship, lambda item, shelf: "balloon")  # called wherever the workflows call ship
    handle = await harness.start(order, "telescope")
    await pay_and_approve(harness, handle)
    await harness.until(handle, "completed", within="1d")
    assert await handle.result() == "balloon has arrived"


async def pay_and_approve(harness, handle):
    await harness.idle()
    await harness.advance("3d")
    await handle.send(paid, 420)
    await harness.idle()
    await harness.advance("1d")
    await handle.approve(by="ann")
