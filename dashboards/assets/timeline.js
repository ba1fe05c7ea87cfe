/**
 * Starts a timeline when Dash puts its section onto the page, and ends it when Dash takes it away.
 */
(() => {
  "use strict";
  const gapfinder = (window.gapfinder ??= {});

  let current = null;
  let observers = [];

  async function start(root) {
    root.dataset.state = "loading";
    const { el } = gapfinder.parts;
    root.replaceChildren(el("p", { class: "timeline-words", role: "status" }, "reading the profile …"));
    let facts;
    try {
      facts = await gapfinder.data.taken(`${root.dataset.base}/lanes`);
    } catch (error) {
      if (!(error instanceof gapfinder.data.AnswerError)) throw error;
      root.dataset.state = "error";
      const retry = el("button", { type: "button", click: () => start(root) }, "try again");
      root.replaceChildren(el("p", { class: "timeline-banner", role: "alert" }, error.message, " ", retry));
      return;
    }
    if (!root.isConnected || root !== document.getElementById("timeline")) return;
    current = new gapfinder.Timeline(root, facts);
    current.keys = gapfinder.keys.listener(current);
    document.addEventListener("keydown", current.keys);
    watch(current);
    await current.readAddress();
  }

  /** Draw anew when the size, the theme or the density of pixels changes. */
  function watch(timeline) {
    const resize = () => timeline.resize();
    const seen = () => [timeline.parts.stage.clientWidth, window.innerHeight, window.devicePixelRatio].join();
    let last = seen();
    const resized = () => { // not where the canvas itself took another height
      if (seen() === last) return;
      last = seen();
      timeline.resize();
    };
    const size = new ResizeObserver(resized);
    size.observe(timeline.parts.stage);
    window.addEventListener("resize", resized);
    const theme = new MutationObserver(resize);
    for (const element of [document.documentElement, document.body]) {
      theme.observe(element, { attributes: true, attributeFilter: ["data-theme", "class"] });
    }
    const scheme = window.matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", resize);
    const back = () => timeline.readAddress();
    window.addEventListener("popstate", back);
    observers = [
      () => size.disconnect(), () => theme.disconnect(), () => scheme.removeEventListener("change", resize),
      () => window.removeEventListener("popstate", back), () => window.removeEventListener("resize", resized),
    ];
  }

  function stop() {
    document.removeEventListener("keydown", current.keys);
    for (const end of observers) end();
    current.close();
    current = null;
  }

  /** Buttons and links of the panel, which the server makes, say in data attributes what they do here. */
  function clicked(event) {
    const act = event.target.closest?.("[data-timeline]");
    if (!act || !current) return;
    const { timeline: action } = act.dataset;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (action === "follow") current.actions.follow(act.getAttribute("href"));
    else if (action === "next") current.actions.nextHole({});
    else if (action === "previous") current.actions.nextHole({ back: true });
    else if (action === "copy") current.actions.copyLink();
    else if (action === "zoom") current.actions.open();
    else if (action === "close") current.actions.close();
  }

  let started = null;
  function look() {
    const root = document.getElementById("timeline");
    if (root === started) return;
    if (current) stop();
    started = root;
    if (root?.dataset.base) start(root);
  }

  new MutationObserver(look).observe(document, { childList: true, subtree: true });
  document.addEventListener("click", clicked, true);
  gapfinder.current = () => current;
})();
