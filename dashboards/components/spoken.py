"""What a screen reader says about something that has no words of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dashboards.components.notices import text

if TYPE_CHECKING:
    from dash.development.base_component import Component

Some = TypeVar("Some", bound="Component")


def labelled(component: Some, label: str) -> Some:
    """Return the component with what it is called."""
    setattr(component, "aria-label", text(label))
    return component


def current(component: Some, *, is_current: bool) -> Some:
    """Return the component, marked where it stands for what is shown."""
    if is_current:
        setattr(component, "aria-current", "page")
    return component
