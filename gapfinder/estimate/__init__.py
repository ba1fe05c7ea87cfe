"""What communication must cost before anything is run: one collective, or a whole training by strategy."""

from gapfinder.estimate.collective import CollectiveEstimate, Schedule, compressed, estimate_collective
from gapfinder.estimate.memory import Dtype, Model
from gapfinder.estimate.network import Network
from gapfinder.estimate.plan import Plan, PlanRequest, make_plan

__all__ = [
    "CollectiveEstimate",
    "Dtype",
    "Model",
    "Network",
    "Plan",
    "PlanRequest",
    "Schedule",
    "compressed",
    "estimate_collective",
    "make_plan",
]
