import carrier
from shop import app, order
from test_shop import pay_and_approve


async def shipped_once(harness, handle):
    shipped = list(carrier.books)
    carrier.books.clear()
    assert len(shipped) == 1


async def test_an_order_survives_every_crash(windlass_harness):
    windlass_harness.use(app)

    report = await windlass_harness.crash_everywhere(order, "telescope", script=pay_and_approve, check=shipped_once)

    print(report)
    assert report.repeated == {"reserve": 2, "ship": 4}
