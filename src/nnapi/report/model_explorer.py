"""Node data for Model Explorer, which shows the device of each operation in its graph of the model's file."""

from typing import Any

from nnapi.report.charts import colors
from nnapi.runtime.planning.plan import Plan

COLORS = ("#8fb2ff", "#ffb27f", "#7fd6b0", "#d9a3e2", "#7fd2e6", "#d6c374")
"""Backgrounds for devices; black text is legible on each."""


def node_data(plan: Plan) -> dict[str, Any]:
    """Return the device of each operation by the names of its results, by which Model Explorer finds nodes."""
    color = colors([decision.chosen for decision in plan.decisions], len(COLORS))
    results = {
        name: {"value": decision.chosen, "bgColor": COLORS[color[decision.chosen]], "textColor": "#000000"}
        for decision, call in zip(plan.decisions, plan.model.operations, strict=True)
        for index in call.outputs
        if decision.chosen and (name := plan.model.operands[index].name)
    }
    return {
        "name": "nnapi: devices",
        "results": results,
        "showExpandedSummaryOnGroupNode": True,
        "showLabelCountColumnsInChildrenStatsTable": True,
    }
