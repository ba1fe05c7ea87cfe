"""What documents say of the dashboard is what it does: limits of uploads, jobs and connections, times, and the codes of HTTP."""

from __future__ import annotations

import re
from http import HTTPStatus

import pytest
from documents import ROOT, SPELLED, telling, words
from waitress.adjustments import Adjustments

from dashboards import server
from dashboards.data import windows
from dashboards.figures import live as live_figure
from dashboards.jobs import limits, runner
from dashboards.jobs.limits import JobLimits, limits_here
from dashboards.pages import live
from dashboards.routes import answers
from dashboards.store import leftovers, places, uploads, work
from dashboards.store.room import NoRoomError, Quota
from gapfinder.cli.app import commands

GB = 10**9
QUOTA = Quota()
DAY_S, HOUR_S = 86_400, 3_600
SLICE_MIB = uploads.MOST_SLICE_BYTES >> 20
RUN_LEAST, RUN_MOST = re.search(r"\{([0-9]+),([0-9]+)\}", uploads._RUN.pattern).groups()
TRIED_AGAIN = {1: "once more"}
HALF = {0.5: "Half"}
SECONDS = {1.0: "one second"}
EACH_S = {0.2: "five times a second"}
SCRIPT = (ROOT / "dashboards" / "assets" / "timeline_data.js").read_text(encoding="utf-8")
LANES_SCRIPT, DRAW_SCRIPT, VIEW_SCRIPT = (
    (ROOT / "dashboards" / "assets" / f"timeline_{name}.js").read_text(encoding="utf-8")
    for name in ("lanes", "draw", "view")
)


def constant(name: str, script: str = SCRIPT) -> float:
    (value,) = re.findall(rf"\b{name}(?: =|:) ([0-9.]+)", script)
    return float(value)


TOLD = [
    ("docs/dashboard.md", f"`span` is {', '.join(f'`{name}`' for name in live._SPANS if name != 'all')} or `all`"),
    ("docs/dashboard.md", f"What is over {SPELLED[live_figure._TALLEST]} times the median"),
    ("docs/dashboard.md", f"Of more than {live_figure.MOST_RANKS} ranks those with the longest steps"),
    ("docs/dashboard.md", f"The page looks every {SPELLED[live._POLL_MS // 1000]} seconds whether"),
    ("docs/dashboard.md", f"only its owner can read it (mode {places._OWNER_ONLY:04o})"),
    ("docs/dashboard.md", f"nobody touched for {'a day' * (leftovers.GIVEN_UP_S == DAY_S)} goes as well"),
    ("docs/dashboard.md", f"is sent again within {'a day' * (leftovers.GIVEN_UP_S == DAY_S)}."),
    (
        "docs/dashboard.md",
        f"more memory than `--memory`, after {'an hour' * (JobLimits(memory_bytes=1).seconds == HOUR_S)}, and",
    ),
    ("docs/dashboard.md", f"is tried {TRIED_AGAIN[work.MOST_ATTEMPTS - 1]}, by any server of the store"),
    ("docs/dashboard.md", f"`run`, {RUN_LEAST} to {RUN_MOST} letters, digits, `-` or `_`"),
    ("docs/dashboard.md", f"the bytes from N on, at most {SLICE_MIB} MiB;"),
    ("docs/dashboard.md", f"never lets the last {'gigabyte' * (QUOTA.reserve_bytes == GB)} of the disk be used"),
    ("docs/dashboard.md", f"listens on {server.USUAL_HOST}, which only this machine reaches"),
    ("docs/dashboard.md", f"`ssh -L {server.USUAL_PORT}:{server.USUAL_HOST}:{server.USUAL_PORT} gpu-server`"),
    ("docs/commands.md", f"address to serve on; {server.USUAL_HOST} when not given"),
    ("docs/commands.md", f"the first free one from {server.USUAL_PORT} on when not given"),
    ("docs/commands.md", f"has to know, at least {server._SHORTEST_TOKEN} characters"),
    ("docs/commands.md", f"what uploads may take together; {QUOTA.total_bytes // GB} GB when not given"),
    ("docs/commands.md", f"{100 * limits._SHARE_OF_FREE:.0f} % of what is free, shared by the jobs, when not given"),
    ("docs/design.md", f"worker's process group, {EACH_S[runner._LOOKS_EVERY_S]}"),
    ("docs/design.md", f"slices of {SLICE_MIB} MiB at most"),
    ("docs/design.md", f"of the server: {SPELLED[server._THREADS]} threads, a slice each"),
    ("docs/design.md", f"{SECONDS[server._LAST_ANSWERS_S]} is enough for what a page asks"),
    (
        "docs/design.md",
        (
            f"**A silent connection ends after {server._SILENT_S} s, and there may be {server._CONNECTIONS}.** waitress has "
            f"{Adjustments.connection_limit} and {Adjustments.channel_timeout} s"
        ),
    ),
    ("docs/design.md", f"reads anything at all within {server._SILENT_S} s is not ended"),
    ("docs/design.md", f"With {windows.MOST_MARKS:,} marks in view"),
    ("docs/design.md", f"{HALF[constant('MARGIN')]} a view on both sides is asked for ahead"),
    ("docs/design.md", f"after a pause of {constant('PAUSE_MS'):.0f} ms without a further move"),
    ("docs/design.md", f"{SPELLED[constant('KEPT')].capitalize()} answers for each block of lanes are kept"),
    ("docs/design.md", f"asks for {constant('closed', LANES_SCRIPT):.0f} closed lanes at a time"),
    ("docs/design.md", f"never thinner than {SPELLED[constant('LEAST_HOLE', DRAW_SCRIPT)]} pixels"),
    ("docs/dashboard.md", f"has a flag and is {SPELLED[constant('LEAST_HOLE', DRAW_SCRIPT)]} pixels wide at least"),
    (
        "docs/dashboard.md",
        f"with more than {SPELLED[constant('OPEN_UP_TO', VIEW_SCRIPT)]} lanes all are closed at first",
    ),
]


@telling(TOLD)
def test_documents_tell_the_numbers_of_the_dashboard(name, sentence):
    assert sentence in words(name)


CODES = [
    (answers._STATUS[uploads.MisplacedSliceError], "{} where it begins elsewhere"),
    (answers._STATUS[uploads.DamagedSliceError], "{} where its checksum is another one"),
    (answers._STATUS[uploads.UnknownUploadError], "{} is an upload that was cancelled"),
    (answers._STATUS[NoRoomError], "{} a full quota"),
    (HTTPStatus.LENGTH_REQUIRED, "{} and 413 a body without a length"),
    (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "411 and {} a body without a length or with too much"),
]


@pytest.mark.parametrize(("code", "sentence"), CODES, ids=[code.phrase for code, _ in CODES])
def test_the_protocol_tells_the_codes_of_its_answers(code, sentence):
    assert sentence.format(code.value) in words("docs/dashboard.md")


def test_a_job_is_prepared_for_every_so_many_processors(monkeypatch):
    (told,) = re.findall(r"one for every (\w+) processors when not given", words("docs/commands.md"))
    each = next(number for number, word in SPELLED.items() if word == told)
    for processors in (1, each, 3 * each):
        monkeypatch.setattr("os.cpu_count", lambda processors=processors: processors)
        assert limits_here(memory_bytes=GB).at_once == max(1, processors // each)


def test_the_help_tells_the_port_that_is_tried_first():
    (told,) = (one.help for one in commands.commands["dashboard"].params if one.name == "port")
    assert f"from {server.USUAL_PORT} on the first free one when not given" in told
    (host,) = (one.default for one in commands.commands["dashboard"].params if one.name == "host")
    assert host == server.USUAL_HOST
