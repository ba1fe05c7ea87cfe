"""The pages about one profile, as component trees."""

from __future__ import annotations

from dataclasses import replace

import analyses
import pytest
from dashboard_fakes import nodes, opened, plain, sample, texts, view_of

from dashboards.components.palette import Theme
from dashboards.ids import Asked, Page
from dashboards.pages import collectives, findings, overview, steps
from dashboards.pages.finding_links import CAUSES_OF, finding_link
from gapfinder.errors import InputError
from gapfinder.explanations import Finding, Severity
from gapfinder.findings.registry import PAGES
from gapfinder.model import NO_COMMUNICATION
from gapfinder.render.verdict import verdict

ABOUT_ONE = {Page.OVERVIEW: overview, Page.STEPS: steps, Page.COLLECTIVES: collectives, Page.FINDINGS: findings}
HARMLESS = "<img src=x onerror=1>"


def page_of(page, profile, *, theme=Theme.LIGHT, **query):
    asked = Asked(page, profile.stored.id, query)
    return ABOUT_ONE[page].layout(view_of(profile), asked, theme=theme)


@pytest.mark.parametrize("page", ABOUT_ONE)
@pytest.mark.parametrize("theme", Theme)
@pytest.mark.parametrize(
    "make",
    [analyses.healthy, analyses.nothing, analyses.host_only, analyses.idle_unknown, analyses.no_communication],
    ids=lambda make: make.__name__,
)
def test_every_page_shows_every_situation(page, theme, make):
    shown = page_of(page, opened(make()), theme=theme)
    assert len(nodes(shown, "H1")) == 1
    assert all(graph["config"]["displaylogo"] is False for graph in nodes(shown, "Graph"))


@pytest.mark.parametrize("page", ABOUT_ONE)
def test_an_unknown_profile_is_an_error_for_a_reader(page):
    with pytest.raises(InputError, match="no profile 'ff'"):
        ABOUT_ONE[page].layout(view_of(), Asked(page, "ff"), theme=Theme.LIGHT)


@pytest.mark.parametrize("page", ABOUT_ONE)
def test_hostile_names_are_text_and_whole(page):
    profile = opened(analyses.hostile(), name=f"{HARMLESS} foo<float>")
    shown = page_of(page, profile)
    assert f"{HARMLESS} foo<float>" in texts(shown)
    assert "\x1b" not in str(plain(shown))
    for graph in nodes(shown, "Graph"):
        assert "<img" not in str(graph["figure"])
    assert not nodes(shown, "Markdown")


def test_the_overview_begins_with_the_report_s_verdict():
    profile = sample("slow_rank")
    shown = page_of(Page.OVERVIEW, profile)
    (paragraph,) = nodes(shown, "P", className="verdict")
    assert paragraph["children"].replace("\N{NO-BREAK SPACE}", " ") == verdict(profile.analysis)


def card_texts(shown):
    return {
        card["children"][0]["props"]["children"]: texts(card["children"][1:]) for card in nodes(shown, className="card")
    }


def test_cards_of_a_job_name_the_worst_lane():
    told = card_texts(page_of(Page.OVERVIEW, opened(analyses.healthy())))
    assert {title: words.replace("\N{NO-BREAK SPACE}", " ") for title, words in told.items()} == {
        "Overlap ratio": "57.9 % worst: rank 1, 50.0 %",
        "Exposed communication": "13.1 % 80.00 ms summed over 2 lanes",
        "Idle": "7.9 % 48.00 ms summed over 2 lanes",
        "Step p50": "100.0 ms longest: rank 0, 3 steps",
        "Step p99": "109.8 ms longest: rank 1, 3 steps",
    }


def test_a_card_of_what_could_not_be_measured_says_why():
    told = card_texts(page_of(Page.OVERVIEW, opened(analyses.idle_unknown())))
    assert told["Idle"].startswith("not measured ")
    assert len(told["Idle"]) > len("not measured ")
    without = card_texts(page_of(Page.OVERVIEW, opened(analyses.no_communication())))
    assert without["Overlap ratio"] == "not measured no communication operation ran"


def test_the_overview_of_the_host_shows_phases_and_says_why_there_is_no_gpu_work():
    shown = texts(page_of(Page.OVERVIEW, opened(analyses.host_only()))).replace("\N{NO-BREAK SPACE}", " ")
    assert "No GPU work was captured" in shown
    assert "Phases of the steps on the host" in shown
    assert "nothing of rank 3 in this report" in shown
    assert not nodes(page_of(Page.OVERVIEW, opened(analyses.host_only())), "Graph")


def test_a_capture_of_nothing_says_how_to_capture_again():
    assert "gapfinder run train.py" in texts(page_of(Page.OVERVIEW, opened(analyses.nothing())))


def test_steps_choose_their_number_and_lane_by_the_address():
    profile = sample("slow_rank")
    shown = page_of(Page.STEPS, profile, show="wait", lane="3")
    assert [one["children"] for one in nodes(shown, "Link", className="current")] == [
        "wait for others",
        "rank\N{NO-BREAK SPACE}3",
    ]
    assert "Steps of rank\N{NO-BREAK SPACE}3" in texts(shown)
    (again,) = [one for one in nodes(shown, "Link") if one["children"] == "idle time"]
    assert again["href"] == f"/p/{profile.stored.id}/steps?show=idle&lane=3"


def test_steps_take_anything_from_the_address():
    shown = page_of(Page.STEPS, sample("slow_rank"), show="<b>", lane="99")
    assert nodes(shown, "Link", className="current")[0]["children"] == "step time"


def test_each_step_of_a_lane_leads_into_the_timeline():
    shown = page_of(Page.STEPS, sample("slow_rank"), lane="3")
    links = [one["href"] for one in nodes(shown, "Link") if "/timeline?" in one["href"]]
    assert len(links) == 5
    assert all(link.endswith("&lane=3") for link in links)


def test_without_steps_the_page_says_what_marks_them():
    shown = texts(page_of(Page.STEPS, opened(analyses.nothing())))
    assert "No steps were found" in shown
    assert "NVTX range" in shown


def test_collectives_list_the_chosen_kind_and_explain_missing_payloads():
    shown = page_of(Page.COLLECTIVES, sample("fsdp"), kind="1")
    told = texts(shown)
    assert "Sizes and bandwidths not measured:" in told
    kinds = collectives.kinds_shown(sample("fsdp").analysis)
    (current,) = nodes(shown, "Link", className="current")
    assert current["children"].startswith(kinds[1].operation)


def test_one_lane_has_no_split_of_waiting_and_transfer():
    analysis = sample("broken_overlap").analysis
    alone = replace(
        analysis,
        lanes=analysis.lanes[:1],
        collectives=(replace(analysis.collectives[0], wait_ns=None, transfer_ns=None, lanes=(0,)),),
        buckets=(),
        stragglers=(),
    )
    told = texts(page_of(Page.COLLECTIVES, opened(alone)))
    assert "Waiting and transfer not measured: only one lane was captured" in told.replace("  ", " ")


def test_without_communication_the_page_says_so():
    assert "Not measured: no communication operation ran." in texts(
        page_of(Page.COLLECTIVES, opened(analyses.no_communication()))
    )
    quiet = analyses.no_communication()
    lanes = tuple(replace(lane, overlap_reason=NO_COMMUNICATION) for lane in quiet.lanes)
    told = texts(page_of(Page.COLLECTIVES, opened(replace(quiet, lanes=lanes))))
    assert "No kernel of a communication library ran on any lane." in told
    assert "Not measured" not in told
    assert "holds no GPU work" in texts(page_of(Page.COLLECTIVES, opened(analyses.nothing())))


def test_every_finding_has_its_page_and_its_place_on_the_timeline():
    profile = sample("slow_rank")
    shown = page_of(Page.FINDINGS, profile)
    found = profile.analysis.findings
    assert [one["id"] for one in nodes(shown, "Li") if "id" in one] == [one.code for one in found]
    told = texts(shown).replace("\N{NO-BREAK SPACE}", " ")
    for one in found:
        assert one.detail in told
        assert PAGES[one.code].beware in told
    assert len([one for one in nodes(shown, "Link") if "/timeline?" in one["href"]]) == len(found)


def test_a_straggler_is_seen_on_the_lanes_that_wait_for_it():
    profile = sample("slow_rank")
    straggler = next(one for one in profile.analysis.findings if one.code == "straggler")
    assert straggler.lane == 3
    assert "&lane=3" not in finding_link(profile, straggler)


def test_a_rule_that_charges_no_hole_leads_nowhere():
    finding = Finding(
        code="step-time-drift", severity=Severity.INFO, title="t", detail="d", advice="a", lost_ns=0, share=0.0
    )
    assert finding_link(sample("slow_rank"), finding) is None


def test_causes_are_of_rules_that_there_are():
    assert set(CAUSES_OF) <= set(PAGES)
    assert set(PAGES) - set(CAUSES_OF) == {"capture-quality", "data-wait", "slow-rank", "step-time-drift"}


def test_no_findings_are_no_empty_page():
    assert "Nothing was found" in texts(page_of(Page.FINDINGS, opened(analyses.healthy())))
