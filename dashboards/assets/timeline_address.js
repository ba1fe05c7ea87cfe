/**
 * The view in the page's address, and the view in words and as a table.
 */
(() => {
  "use strict";
  const gapfinder = (window.gapfinder ??= {});

  /** Put what is in view and chosen into the address; going back still leads to the page before. */
  function write({ view, selection, root }) {
    const query = new URLSearchParams({ start: Math.round(view.start), end: Math.round(view.end) });
    for (const name of ["lane", "hole", "row", "op"]) if (selection?.[name] !== undefined) query.set(name, selection[name]);
    if (window.location.pathname.startsWith(root.dataset.base)) {
      window.history.replaceState(window.history.state, "", `${window.location.pathname}?${query}`);
    }
  }

  /** Show what the address asks for: a stretch, a hole, an operation, a step, or all. */
  async function read(timeline) {
    const query = new URLSearchParams(window.location.search);
    const number = (name) => (/^\d+$/.test(query.get(name) ?? "") ? Number(query.get(name)) : undefined);
    const [start, end, lane, hole, op] = ["start", "end", "lane", "hole", "op"].map(number);
    if (start < end) timeline.show({ start, end });
    else if (number("step") !== undefined) await timeline.actions.goToStep(number("step"));
    else timeline.show({ start: 0, end: timeline.facts.end });
    if (lane !== undefined) timeline.showLane(lane);
    if (lane === undefined || (hole ?? op) === undefined) return;
    if (hole === undefined) {
      const answer = await gapfinder.actions.ask(timeline, `mark?lane=${lane}&row=${encodeURIComponent(query.get("row"))}&op=${op}`);
      if (answer) timeline.actions.chooseMark(answer.mark, start === undefined);
      return;
    }
    const answer = await gapfinder.actions.ask(timeline, `hole?lane=${lane}&hole=${hole}`);
    if (answer?.hole) {
      timeline.choose(answer.hole, { reveal: start === undefined });
      timeline.say(answer.hole.words);
    }
  }

  /** Once the view rests: put it into the address, into words and into the table. */
  async function settled(timeline) {
    if (!timeline.root.isConnected) return;
    write(timeline);
    const { view, parts } = timeline;
    const lanes = gapfinder.actions.shownLanes(timeline);
    if (timeline.isNothingShown()) {
      parts.words.textContent = "nothing passes the filters";
      parts.table.replaceChildren();
      return;
    }
    const query = `start=${Math.floor(view.start)}&end=${Math.ceil(view.end)}&lanes=${lanes}${timeline.filterQuery()}`;
    if (timeline.lastSummary === query) return;
    timeline.lastSummary = query;
    const answer = await gapfinder.actions.ask(timeline, `holes?${query}`);
    if (answer === null || timeline.lastSummary !== query) return;
    parts.words.textContent = answer.words;
    fill(timeline, answer.holes);
  }

  function fill(timeline, holes) {
    const { el } = gapfinder.parts;
    const row = (hole) => el(
      "tr", {},
      el("td", {}, el("button", { type: "button", click: () => timeline.choose(hole, { reveal: true }) }, hole.name)),
      el("td", {}, hole.at), el("td", {}, hole.length), el("td", {}, hole.why),
    );
    timeline.parts.table.replaceChildren(...holes.map(row));
  }

  gapfinder.address = { write, read, settled };
})();
