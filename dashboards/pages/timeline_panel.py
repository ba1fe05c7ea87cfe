"""What is beside the timeline: everything that is known of the hole or the operation that was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dash.development.base_component import Component

    from dashboards.data.opening import OpenProfile


def nothing_chosen() -> list[Component]:
    """Return what stands there before anything is chosen."""
    return [
        html.H2("Nothing is chosen"),
        html.P("Click a hole, or press n for the next one and l for the longest one: here is then why it is there."),
    ]


def panel(profile: OpenProfile, chosen: Mapping[str, object]) -> list[Component]:
    """Return the details of a hole or an operation; InputError where there is no such one."""
    return [html.P(str(dict(chosen)))]
