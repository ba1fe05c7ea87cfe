"""Makes the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import Dash, html

if TYPE_CHECKING:
    from dashboards.view import View


def create_app(view: View) -> Dash:
    """Return an app that lists what is in `view`."""
    app = Dash("dashboards", serve_locally=True, title="gapfinder")

    def layout() -> html.Div:
        items = [html.Li(f"{stored.name}: {stored.job}") for stored in view.store.profiles()]
        return html.Div(
            [html.Div([html.Div(className="upload-list")], id="upload", className="upload-zone"), html.Ul(items)]
        )

    app.layout = layout
    return app
