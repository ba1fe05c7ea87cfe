"""The profiles: all of them with uploading, or one of them to rename, label or delete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import ALL, Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate

from dashboards import ids
from dashboards.components.notices import text
from dashboards.ids import Page, address
from dashboards.pages.profile_list import CANCEL, PREPARE, profile_list, signature
from gapfinder.errors import InputError
from gapfinder.units import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash import Dash
    from dash.development.base_component import Component

    from dashboards.components.palette import Theme
    from dashboards.ids import Asked
    from dashboards.store.records import StoredProfile
    from dashboards.view import View

_LIST, _SEEN, _POLL = "profiles-list", "profiles-seen", "profiles-poll"
_EDITED, _NAME, _LABELS, _SAVE, _DELETE = (
    "profile-edited",
    "profile-name",
    "profile-labels",
    "profile-save",
    "profile-delete",
)
_POLL_MS = 1_000
_LONGEST_NAME = 200


def layout(view: View, asked: Asked, *, theme: Theme) -> Component:
    """Return the page; the query names the profile to edit (`edit`), else all are listed."""
    if edited := asked.query.get("edit"):
        return _editor(view.store.profile(edited))
    profiles = view.store.profiles()
    return html.Article(
        [
            html.H1("Profiles"),
            html.Div(profile_list(view), id=_LIST),
            html.Section([html.H2("Upload"), _upload_zone()]),
            dcc.Store(id=_SEEN, data=signature(profiles)),
            dcc.Interval(id=_POLL, interval=_POLL_MS),
        ]
    )


def register(app: Dash, view: View) -> None:
    """Keep the list up to date, and do what its buttons and the editor say."""
    _register_list(app, view)
    _register_editor(app, view)


def _register_list(app: Dash, view: View) -> None:
    @app.callback(
        Output(_LIST, "children"),
        Output(_SEEN, "data"),
        Input(_POLL, "n_intervals"),
        Input({"type": CANCEL, "job": ALL}, "n_clicks"),
        Input({"type": PREPARE, "profile": ALL}, "n_clicks"),
        State(_SEEN, "data"),
        prevent_initial_call=True,
    )
    def update(
        _: int | None, cancels: Sequence[int | None], prepares: Sequence[int | None], seen: str | None
    ) -> tuple[Component, str]:
        pressed = ctx.triggered_id
        if isinstance(pressed, dict) and any((*cancels, *prepares)):
            press(view, pressed)
        now = signature(view.store.profiles())
        if now == seen:
            raise PreventUpdate
        return profile_list(view), now


def press(view: View, button: dict[str, str]) -> None:
    """Do what a button of the list says."""
    if button["type"] == CANCEL:
        view.queue.cancel(button["job"])
    else:
        view.profiles.forget(button["profile"])
        view.queue.submit(button["profile"])


def _register_editor(app: Dash, view: View) -> None:
    @app.callback(
        Output(ids.LOCATION, "href", allow_duplicate=True),
        Input(_SAVE, "n_clicks"),
        Input(_DELETE, "n_clicks"),
        State(_EDITED, "data"),
        State(_NAME, "value"),
        State(_LABELS, "value"),
        prevent_initial_call=True,
    )
    def edit(saves: int | None, deletes: int | None, profile: str, name: str | None, labels: str | None) -> object:
        if ctx.triggered_id == _SAVE and saves:
            save(view, profile, name=name or "", labels=labels or "")
        elif ctx.triggered_id == _DELETE and deletes:
            view.store.remove(profile)
            view.profiles.forget(profile)
        else:
            return no_update
        return address(Page.PROFILES)


def save(view: View, profile: str, *, name: str, labels: str) -> None:
    """Give a profile its name and its labels, which are words between commas."""
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME:
        raise InputError(f"a profile needs a name of 1 to {_LONGEST_NAME} characters; this one has {len(name)}")
    view.store.rename(profile, name=name)
    view.store.label(profile, labels=sorted({word.strip() for word in labels.split(",")} - {""}))
    view.profiles.forget(profile)


def _upload_zone() -> Component:
    """Return where files are dropped; JavaScript makes it work, and fills the list."""
    return html.Div(
        [
            html.P("Drop reports of nsys here: .nsys-rep, .sqlite, .gz or .zst."),
            html.P("Files that are dropped together become one profile: the ranks of one run.", className="caption"),
            html.Div(className="upload-list"),
        ],
        className="upload-zone",
    )


def _editor(profile: StoredProfile) -> Component:
    return html.Article(
        [
            html.H1(text(profile.name)),
            html.P(dcc.Link("All profiles", href=address(Page.PROFILES)), className="source"),
            dcc.Store(id=_EDITED, data=profile.id),
            html.Div(
                [
                    html.Label([html.Span("Name"), dcc.Input(id=_NAME, value=profile.name, maxLength=_LONGEST_NAME)]),
                    html.Label(
                        [
                            html.Span("Labels, with commas between them"),
                            dcc.Input(id=_LABELS, value=", ".join(profile.labels)),
                        ]
                    ),
                    html.Button("Save", id=_SAVE, type="button", className="main"),
                ],
                className="form",
            ),
            html.Details(
                [
                    html.Summary("Delete this profile…"),
                    html.P(_what_goes(profile)),
                    html.Button("Delete it for good", id=_DELETE, type="button", className="danger"),
                ],
                className="danger",
            ),
        ]
    )


def _what_goes(profile: StoredProfile) -> str:
    files = format_count(len(profile.files), "file")
    if profile.is_uploaded:
        return f"Its {files} and everything that was prepared from them are removed from this server."
    return f"What was prepared is removed. Its {files} stay where they are: they were not uploaded."
