/**
 * The elements around the canvas: tools, legend, help, banner, tooltip. Every text is set as text, never as markup.
 */
(() => {
  "use strict";
  const gapfinder = (window.gapfinder ??= {});

  const LENGTHS = [[0, "any length"], [1e5, "100 µs"], [1e6, "1 ms"], [1e7, "10 ms"], [1e8, "100 ms"], [1e9, "1 s"]];

  /** An element with attributes (functions are listeners) and children; texts become text nodes. */
  function el(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children);
    return element;
  }

  function button(text, title, click) {
    return el("button", { type: "button", title, click }, text);
  }

  function tools(timeline, parts) {
    const { actions } = timeline;
    const enter = (act) => (event) => {
      if (event.key === "Enter") act(event.target.value, event.shiftKey);
    };
    parts.step = el("input", {
      type: "number", min: 0, "aria-label": "go to step", placeholder: "step", class: "timeline-step",
      keydown: enter((value) => actions.goToStep(value)),
    });
    parts.search = el("input", {
      type: "search", "aria-label": "find operations, ranges and calls by name", placeholder: "find a name",
      keydown: enter((value, isBack) => actions.find(value, isBack)),
    });
    parts.found = el("output", { class: "timeline-found", "aria-live": "polite" });
    parts.least = el(
      "select", { "aria-label": "shortest hole to show", change: (event) => actions.setLeast(Number(event.target.value)) },
      ...LENGTHS.map(([ns, text]) => el("option", { value: ns }, ns ? `holes from ${text}` : "holes of any length")),
    );
    parts.lanes = el("div", { class: "timeline-lanes" });
    const group = (...children) => el("div", { class: "timeline-group" }, ...children);
    return el(
      "div", { class: "timeline-tools", role: "toolbar", "aria-label": "timeline" },
      group(
        button("‹ hole", "previous hole (p)", () => actions.nextHole({ back: true })),
        button("hole ›", "next hole (n)", () => actions.nextHole({})),
        button("longest", "the longest hole, then shorter ones (l)", () => actions.nextHole({ order: "length" })),
      ),
      group(button("whole capture", "fit the whole capture (f)", () => actions.fit())),
      group(parts.step, parts.search, parts.found),
      group(parts.least, el("details", { class: "timeline-choice" }, el("summary", {}, "lanes"), parts.lanes)),
      group(
        button("copy link", "copy the link to this view (c)", () => actions.copyLink()),
        button("PNG", "save the picture (x)", () => actions.savePicture()),
        button("keys", "show the keys (?)", () => actions.help()),
      ),
    );
  }

  /** The legend, which is the filter by cause as well: a press leaves a cause out, another takes it in again. */
  function fillLegend(timeline) {
    const { parts, facts, palette, colors, filter } = timeline;
    const buttons = facts.causes.map((one) => el(
      "button",
      {
        type: "button", "aria-pressed": String(!filter.without.has(one.cause)), "data-cause": one.cause,
        title: one.text, click: () => timeline.actions.toggleCause(one.cause),
      },
      gapfinder.colors.swatch(palette.causes.find((cause) => cause.cause === one.cause), palette, colors.theme),
      ` ${one.label} `, el("small", {}, one.text),
    ));
    parts.legend.replaceChildren(...buttons);
  }

  function fillLanes(timeline) {
    const { parts, facts, actions } = timeline;
    const box = (lane) => el("label", {}, el("input", {
      type: "checkbox", checked: timeline.shown.has(lane.lane), change: (event) => actions.showLane(lane.lane, event.target.checked),
    }), ` ${lane.label} `, el("small", {}, [lane.host, lane.detail].filter(Boolean).join(" · ")));
    parts.lanes.replaceChildren(
      el(
        "div", { class: "timeline-group" },
        button("all", "show all lanes", () => actions.showLanes(facts.lanes.map((lane) => lane.lane))),
        button("none", "show no lane", () => actions.showLanes([])),
        button("open or close all", "open or close all lanes (e)", () => actions.openAll()),
      ),
      ...facts.lanes.map(box),
    );
  }

  function helpTable() {
    const row = ({ keys, does }) => el("tr", {}, el("td", {}, ...keys.flatMap((key) => [el("kbd", {}, key), " "])), el("td", {}, does));
    return el("table", {}, el("tbody", {}, ...gapfinder.keys.list.map(row)));
  }

  /** Build everything inside the page's empty section. */
  function build(timeline) {
    const parts = {};
    parts.canvas = el("canvas", {
      class: "timeline-canvas", tabindex: 0, role: "img", "aria-describedby": "timeline-words",
      "aria-label": "timeline; the keys are under ?, and a table of the holes follows",
    });
    parts.strip = el("canvas", { class: "timeline-strip", "aria-hidden": "true" });
    parts.tooltip = el("div", { class: "timeline-tooltip", hidden: true, "aria-hidden": "true" });
    parts.banner = el("div", { class: "timeline-banner", role: "alert", hidden: true });
    parts.words = el("p", { id: "timeline-words", class: "timeline-words", "aria-live": "polite" });
    parts.said = el("p", { class: "timeline-hidden", "aria-live": "polite" });
    parts.legend = el("div", { class: "timeline-legend", role: "group", "aria-label": "causes of holes; press one to leave it out" });
    parts.table = el("tbody", {});
    parts.tools = tools(timeline, parts);
    parts.help = el(
      "dialog", { class: "timeline-help", "aria-label": "keys" },
      el("h2", {}, "Keys"), helpTable(),
      el("p", {}, "Mouse: the wheel zooms at the pointer, dragging moves, dragging on the time axis or with shift zooms into a stretch, a double click zooms to what it hits."),
      el("form", { method: "dialog" }, el("button", {}, "close")),
    );
    const heads = ["lane", "at", "length", "cause"].map((text) => el("th", { scope: "col" }, text));
    parts.holes = el(
      "details", { class: "timeline-holes" }, el("summary", {}, "longest holes in view, as a table"),
      el("table", {}, el("thead", {}, el("tr", {}, ...heads)), parts.table),
    );
    parts.stage = el("div", { class: "timeline-stage" }, parts.strip, parts.canvas, parts.tooltip, parts.banner);
    timeline.root.replaceChildren(parts.tools, parts.legend, parts.stage, parts.words, parts.said, parts.holes, parts.help);
    return parts;
  }

  /** Show a problem with what can be done about it; null takes it away. */
  function banner({ parts }, message, retry) {
    parts.banner.hidden = message === null;
    if (message !== null) parts.banner.replaceChildren(el("span", {}, message), " ", button("try again", "ask again", retry));
  }

  gapfinder.parts = { el, build, fillLegend, fillLanes, banner };
})();
