"""Is anything lost or done twice if we die at any point of a story about starts and claims?"""

from __future__ import annotations

from tests.crash import stories_of_claims
from tests.crash.every_point import EveryPoint, every_scenario_of


@every_scenario_of(stories_of_claims)
class TestEveryPoint(EveryPoint): ...
