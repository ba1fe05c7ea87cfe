/**
 * What tools and keys do: walk from hole to hole, go to a step, find a name, filter, copy the link, save the picture.
 */
(() => {
  "use strict";
  const gapfinder = (window.gapfinder ??= {});

  /** The answer of the server; null, with a banner, where there is none. */
  async function ask(timeline, path) {
    try {
      return await gapfinder.data.taken(`${timeline.base}/${path}`);
    } catch (error) {
      if (!(error instanceof gapfinder.data.AnswerError)) throw error;
      timeline.say(error.message);
      return null;
    }
  }

  function shownLanes(timeline) {
    return timeline.facts.lanes.filter((lane) => timeline.shown.has(lane.lane)).map((lane) => lane.lane);
  }

  /** Choose the next hole in time, or the next shorter one, from the one that is chosen; else from the view's start. */
  async function nextHole(timeline, { back = false, order = "time" }) {
    const { selection, view } = timeline;
    const isHole = selection?.hole !== undefined;
    const whence = isHole ? `after=${selection.lane}.${selection.hole}` : `from=${Math.round(view.start)}`;
    const query = `${whence}&order=${order}&back=${Number(back)}&lanes=${shownLanes(timeline)}${timeline.filterQuery()}`;
    const answer = timeline.isNothingShown() ? { hole: null } : await ask(timeline, `hole?${query}`);
    if (answer === null) return;
    if (answer.hole === null) {
      timeline.say(isHole ? "no further hole that passes the filters" : "no hole passes the filters");
      return;
    }
    timeline.choose(answer.hole, { reveal: true });
    timeline.say(answer.hole.words);
  }

  async function goToStep(timeline, text) {
    const step = await ask(timeline, `step?number=${encodeURIComponent(text)}`);
    if (step === null) return;
    timeline.glide(around(step.start, step.end, 0.9));
    timeline.say(`step ${step.number}`);
    timeline.parts.canvas.focus();
  }

  function around(start, end, share) {
    const margin = ((end - start) * (1 / share - 1)) / 2;
    return { start: start - margin, end: end + margin };
  }

  async function find(timeline, text, isBack) {
    const { found } = timeline.parts;
    if (text.trim() === "") {
      found.textContent = "";
      return;
    }
    const last = timeline.lastFound?.text === text ? timeline.lastFound : null;
    const from = last ? last.start : isBack ? timeline.view.end : timeline.view.start - 1;
    const query = `name=${encodeURIComponent(text)}&from=${Math.round(from)}&back=${Number(isBack)}&lanes=${shownLanes(timeline)}`;
    const answer = await ask(timeline, `search?${query}`);
    if (answer === null) return;
    found.textContent = answer.words;
    if (answer.found === null) return;
    timeline.lastFound = { text, start: answer.found.start };
    chooseMark(timeline, answer.found, true);
  }

  /** Choose an operation, a step, a range or a call that the server told, in a lane that shows its row. */
  function chooseMark(timeline, mark, reveal) {
    if (!gapfinder.lanes.isGathered(mark.row) && !timeline.open.has(mark.lane)) {
      timeline.open.add(mark.lane);
      timeline.relayout();
    }
    timeline.choose(mark, { reveal });
    timeline.showLane(mark.lane);
  }

  async function copyLink(timeline) {
    timeline.writeAddress();
    try {
      await navigator.clipboard.writeText(window.location.href);
      timeline.say("the link to this view is in the clipboard");
    } catch { // without https, or without leave, there is no clipboard
      timeline.say(`the link to this view: ${window.location.href}`);
    }
  }

  function savePicture(timeline) {
    gapfinder.image.make(timeline).toBlob((blob) => {
      const link = gapfinder.parts.el("a", { href: URL.createObjectURL(blob), download: gapfinder.image.fileName(timeline) });
      document.body.append(link);
      link.click();
      link.remove();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      timeline.say(`saved as ${link.download}`);
    }, "image/png");
  }

  /** Zoom to what is chosen, and move the focus to its details. */
  function open(timeline) {
    if (!timeline.selection) {
      timeline.say("nothing is chosen; n chooses the next hole");
      return;
    }
    timeline.zoomTo(timeline.selection);
    document.getElementById("timeline-panel")?.focus();
  }

  function close(timeline) {
    if (timeline.parts.help.open) timeline.parts.help.close();
    else timeline.choose(null);
    timeline.parts.canvas.focus();
  }

  function toggle(timeline, item) {
    if (!item) return;
    const [set, key] = item.kind === "host" ? [timeline.closedHosts, item.host] : [timeline.open, item.lane.lane];
    if (!set.delete(key)) set.add(key);
    timeline.relayout();
  }

  function openAll(timeline) {
    const lanes = shownLanes(timeline);
    const areOpen = lanes.every((lane) => timeline.open.has(lane));
    timeline.open = new Set(areOpen ? [] : lanes);
    timeline.relayout();
  }

  /** Show what a link inside the page leads to, a stretch with perhaps a hole, without loading the page again. */
  async function follow(timeline, address) {
    window.history.pushState(null, "", address);
    await timeline.readAddress();
    timeline.parts.canvas.focus();
  }

  function actions(timeline) {
    return {
      nextHole: (options) => nextHole(timeline, options),
      goToStep: (text) => goToStep(timeline, text),
      find: (text, isBack) => find(timeline, text, isBack),
      fit: () => timeline.glide({ start: 0, end: timeline.facts.end }),
      copyLink: () => copyLink(timeline),
      savePicture: () => savePicture(timeline),
      help: () => timeline.parts.help.showModal(),
      open: () => open(timeline),
      close: () => close(timeline),
      toggle: (item) => toggle(timeline, item),
      openAll: () => openAll(timeline),
      chooseMark: (mark, reveal) => chooseMark(timeline, mark, reveal),
      follow: (address) => follow(timeline, address),
      setLeast: (ns) => timeline.setFilter({ least: ns }),
      toggleCause: (cause) => {
        const without = new Set(timeline.filter.without);
        if (!without.delete(cause)) without.add(cause);
        timeline.setFilter({ without });
      },
      showLane: (lane, isShown) => timeline.showLanes([...timeline.shown].filter((one) => one !== lane).concat(isShown ? [lane] : [])),
      showLanes: (lanes) => timeline.showLanes(lanes),
    };
  }

  gapfinder.actions = { actions, ask, around, shownLanes };
})();
