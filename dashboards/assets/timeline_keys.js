/**
 * The keys of the timeline, in the order that help and docs/dashboard.md list them.
 */
(() => {
  "use strict";
  const gapfinder = (window.gapfinder ??= {});

  const PAN = 0.2; // of the view
  const ZOOM = 0.7;
  const SCROLL = 60; // px

  const list = [
    { keys: ["w", "+"], does: "zoom in", run: (timeline) => timeline.zoom(ZOOM) },
    { keys: ["s", "-"], does: "zoom out", run: (timeline) => timeline.zoom(1 / ZOOM) },
    { keys: ["a", "ArrowLeft"], does: "move left", run: (timeline) => timeline.pan(-PAN) },
    { keys: ["d", "ArrowRight"], does: "move right", run: (timeline) => timeline.pan(PAN) },
    { keys: ["ArrowUp"], does: "scroll the lanes up", run: (timeline) => timeline.scrollTo(timeline.scroll - SCROLL) },
    { keys: ["ArrowDown"], does: "scroll the lanes down", run: (timeline) => timeline.scrollTo(timeline.scroll + SCROLL) },
    { keys: ["n"], does: "next hole in time", run: (timeline) => timeline.actions.nextHole({}) },
    { keys: ["p"], does: "previous hole in time", run: (timeline) => timeline.actions.nextHole({ back: true }) },
    { keys: ["l"], does: "longest hole, then the next shorter one", run: (timeline) => timeline.actions.nextHole({ order: "length" }) },
    { keys: ["L"], does: "next longer hole", run: (timeline) => timeline.actions.nextHole({ order: "length", back: true }) },
    { keys: ["Enter"], does: "zoom to what is chosen and go to its details", run: (timeline) => timeline.actions.open() },
    { keys: ["f"], does: "fit the whole capture", run: (timeline) => timeline.actions.fit() },
    { keys: ["g"], does: "go to a step", run: (timeline) => timeline.parts.step.focus() },
    { keys: ["/"], does: "find a name", run: (timeline) => timeline.parts.search.focus() },
    { keys: ["e"], does: "open or close all lanes", run: (timeline) => timeline.actions.openAll() },
    { keys: ["c"], does: "copy the link to this view", run: (timeline) => timeline.actions.copyLink() },
    { keys: ["x"], does: "save the picture as PNG", run: (timeline) => timeline.actions.savePicture() },
    { keys: ["?"], does: "show these keys", run: (timeline) => timeline.actions.help() },
    { keys: ["Escape"], does: "close help, or choose nothing and go back to the timeline", run: (timeline) => timeline.actions.close() },
  ];
  const byKey = new Map(list.flatMap((one) => one.keys.map((key) => [key, one])));

  /** Whether keys belong to another part; the link that led here, which some versions of Dash leave focused, takes none. */
  function isElsewhere(target, root) {
    const isPage = target === document.body || target.matches?.("a.current");
    if (!isPage && !root.contains(target) && !target.closest?.("#timeline-panel")) return true;
    return target.matches?.("input, select, textarea, [contenteditable]") ?? false;
  }

  /** The listener for keydown on the document; what is typed into a field or elsewhere on the page stays there. */
  function listener(timeline) {
    return (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const isEscape = event.key === "Escape" && timeline.root.contains(event.target);
      if (isElsewhere(event.target, timeline.root) && !isEscape) return;
      if (event.key === "Enter" && event.target.matches?.("button, summary, a")) return;
      const key = byKey.get(event.key);
      if (!key || (timeline.parts.help.open && event.key !== "Escape")) return;
      event.preventDefault();
      key.run(timeline);
    };
  }

  gapfinder.keys = { list, listener };
})();
