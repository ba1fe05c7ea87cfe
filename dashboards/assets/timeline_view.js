/**
 * The timeline itself: what is in view, chosen, filtered and open, and when to paint and to ask.
 */
(() => {
  "use strict";
  const gapfinder = (window.gapfinder ??= {});

  const LEAST_SPAN = 50; // ns in view, at least
  const WHOLE_NS_FROM = 1e5; // ns in view: a part of 1 ns does not show
  const LEAST_HEIGHT = 120; // px
  const OPEN_UP_TO = 3; // lanes that are open from the start
  const GLIDE_MS = 160;
  const SETTLED_MS = 350;
  const HOLE_SHARE = 0.25; // of the view, for a hole that was too small or too large to see

  class Timeline {
    constructor(root, facts) {
      this.root = root;
      this.facts = facts;
      this.base = root.dataset.base;
      this.palette = JSON.parse(root.dataset.palette);
      this.view = { start: 0, end: facts.end };
      this.scroll = 0;
      this.shown = new Set(facts.lanes.map((lane) => lane.lane));
      this.open = new Set(facts.lanes.length > OPEN_UP_TO ? [] : this.shown);
      this.closedHosts = new Set();
      this.filter = { without: new Set(), least: 0 };
      this.selection = this.hover = this.box = this.overview = null;
      this.passes = (holes, i) => this.#passes(holes, i);
      this.answers = new gapfinder.data.Answers(this.base, {
        changed: () => this.repaint(),
        failed: (error) => gapfinder.parts.banner(this, error && error.message, () => this.retry()),
      });
      this.actions = gapfinder.actions.actions(this);
      this.parts = gapfinder.parts.build(this);
      this.context = this.parts.canvas.getContext("2d");
      this.strip = this.parts.strip.getContext("2d");
      gapfinder.pointer.attach(this.parts.canvas, this);
      gapfinder.overview.attach(this.parts.strip, this);
      gapfinder.parts.fillLanes(this);
      this.resize();
      this.retry();
    }

    /** Ask for what is missing, the strip of the whole capture too. */
    async retry() {
      this.ask();
      if (this.overview) return;
      const body = await gapfinder.actions.ask(this, gapfinder.overview.question(this));
      if (body) this.overview = gapfinder.data.decode(body);
      this.repaint();
    }

    /** Take the size and the theme of the page as they are now. */
    resize() {
      const ratio = Math.max(1, window.devicePixelRatio);
      const { canvas, strip, stage } = this.parts;
      const width = Math.max(280, Math.floor(stage.clientWidth));
      canvas.style.height = ""; // as high as the style sheet lets it be
      this.room = Math.max(160, Math.floor(canvas.clientHeight));
      this.size = { width, height: this.room, ratio, gutter: gapfinder.picture.gutterOf(width) };
      [strip.width, strip.height] = [Math.round(width * ratio), Math.round(gapfinder.overview.HEIGHT * ratio)];
      const theme = getComputedStyle(this.root).getPropertyValue("--timeline-theme").trim() || "light";
      this.colors = gapfinder.colors.colors(this.palette, theme, this.context, ratio);
      gapfinder.parts.fillLegend(this);
      this.relayout();
    }

    relayout() {
      const { AXIS } = gapfinder.picture;
      this.layout = gapfinder.lanes.layout(this.facts.lanes, this, this.room - AXIS);
      this.#fit(Math.min(this.room, Math.max(LEAST_HEIGHT, Math.ceil(this.layout.height) + AXIS)));
      this.blocks = gapfinder.lanes.blocks(this.layout.items);
      this.byLane = new Map(this.blocks.flatMap((one) => one.lanes.map((lane) => [lane, this.answers.block(one.lanes, one.rows)])));
      this.scrollTo(this.scroll);
      this.ask();
    }

    /** Let the canvas be no higher than what is on it. */
    #fit(height) {
      const { canvas } = this.parts;
      const { width, ratio } = this.size;
      this.size.height = height;
      canvas.style.height = `${height}px`;
      const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
    }

    blockOf(lane) {
      return this.byLane.get(lane);
    }

    #passes(holes, i) {
      const { cause } = this.palette.causes[holes.causes[i]];
      return !this.filter.without.has(cause) && holes.ends[i] - holes.starts[i] >= this.filter.least;
    }

    /** The filters as the server reads them. */
    filterQuery() {
      const { without, least } = this.filter;
      const causes = this.facts.causes.map((one) => one.cause).filter((cause) => !without.has(cause));
      return (without.size && causes.length ? `&causes=${causes}` : "") + (least ? `&min_hole=${least}` : "");
    }

    isNothingShown() {
      return this.shown.size === 0 || this.facts.causes.every((one) => this.filter.without.has(one.cause));
    }

    setFilter(change) {
      Object.assign(this.filter, change);
      gapfinder.parts.fillLegend(this);
      this.ask();
    }

    showLanes(lanes) {
      this.shown = new Set(lanes);
      gapfinder.parts.fillLanes(this);
      this.relayout();
    }

    /** Bring a stretch into view, kept inside the capture. */
    show({ start, end }) {
      const whole = this.facts.end;
      const span = Math.min(whole, Math.max(LEAST_SPAN, end - start));
      const middle = (start + end) / 2;
      const from = Math.min(Math.max(0, middle - span / 2), whole - span);
      const near = span > WHOLE_NS_FROM ? Math.round : (ns) => ns; // so that the address, in whole ns, is this view
      this.view = { start: near(from), end: near(from + span) };
      this.ask();
    }

    pan(share) {
      const moved = share * (this.view.end - this.view.start);
      this.show({ start: this.view.start + moved, end: this.view.end + moved });
    }

    zoom(factor, at = this.#middle()) {
      const { start, end } = this.view;
      this.show({ start: at - (at - start) * factor, end: at + (end - at) * factor });
    }

    #middle() {
      const { hover, selection, view } = this;
      if (hover && hover.x > this.size.gutter) return gapfinder.picture.momentAt(this, hover.x);
      const isInView = selection?.start < view.end && selection?.end > view.start;
      return isInView ? (Math.max(selection.start, view.start) + Math.min(selection.end, view.end)) / 2 : (view.start + view.end) / 2;
    }

    /** Bring a stretch into view so that the eye can follow; at once for who wants less motion. */
    glide(target) {
      const from = { ...this.view };
      const began = performance.now();
      if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) return this.show(target);
      const move = (now) => {
        const share = Math.min(1, (now - began) / GLIDE_MS);
        const eased = share * (2 - share);
        if (this.gliding !== move) return;
        this.show({ start: from.start + (target.start - from.start) * eased, end: from.end + (target.end - from.end) * eased });
        if (share < 1) requestAnimationFrame(move);
        else this.gliding = null;
      };
      this.gliding = move;
      return requestAnimationFrame(move);
    }

    zoomTo({ start, end }) {
      this.glide(gapfinder.actions.around(start, end, 0.6));
    }

    scrollTo(y) {
      this.scroll = Math.max(0, Math.min(y, this.layout.height - (this.size.height - gapfinder.picture.AXIS)));
      this.ask();
    }

    /** Choose a hole or an operation, or nothing; `reveal` brings it into view. */
    choose(found, { reveal = false } = {}) {
      this.selection = found && {
        lane: found.lane, start: found.start, end: found.end, depth: found.depth,
        ...(found.hole === undefined ? { row: found.row.row ?? found.row, op: found.op } : { hole: found.hole }),
      };
      if (found && reveal) this.#reveal(this.selection);
      const { lane, hole, row, op } = this.selection ?? {};
      const data = this.selection && { profile: this.root.dataset.profile, lane, ...(hole === undefined ? { row, op } : { hole }) };
      window.dash_clientside?.set_props?.("timeline-selection", { data });
      if (!found) this.parts.said.textContent = "";
      this.ask();
    }

    #reveal({ lane, start, end }) {
      const { view } = this;
      const share = (end - start) / (view.end - view.start);
      const isSeen = start >= view.start && end <= view.end && share > 0.02 && share < 0.7;
      if (!isSeen) this.glide(gapfinder.actions.around(start, end, HOLE_SHARE));
      this.showLane(lane);
    }

    /** Scroll until a lane is in view. */
    showLane(lane) {
      const item = this.layout.items.find((one) => one.lane?.lane === lane);
      if (!item) return;
      const room = this.size.height - gapfinder.picture.AXIS;
      if (item.y < this.scroll) this.scrollTo(item.y);
      else if (item.y + item.height > this.scroll + room) this.scrollTo(Math.min(item.y, item.y + item.height - room));
    }

    /** Say something that readers of the screen hear and others see below the lanes. */
    say(text) {
      this.parts.said.textContent = text;
      this.parts.said.className = "timeline-said";
    }

    /** Paint with what is there, ask for what is missing, and say what is in view once it rests. */
    ask() {
      this.repaint();
      this.answers.want(() => {
        const bottom = this.scroll + this.size.height;
        const inView = this.blocks.filter((block) => block.items.some((item) => item.y < bottom && item.y + item.height > this.scroll));
        const { view, facts } = this;
        const width = this.size.width - this.size.gutter;
        return { blocks: inView.map((one) => this.answers.block(one.lanes, one.rows)), view, width, end: facts.end, filter: this.filterQuery() };
      });
      clearTimeout(this.settling);
      this.root.dataset.rests = "no";
      this.settling = setTimeout(() => this.#rest(), SETTLED_MS);
    }

    async #rest() {
      const rested = this.settling;
      await gapfinder.address.settled(this);
      if (rested === this.settling) this.root.dataset.rests = "yes";
    }

    repaint() {
      this.root.dataset.state = this.answers.isQuiet ? "ready" : "loading";
      if (this.painting) return;
      this.painting = requestAnimationFrame(() => {
        this.painting = null;
        for (const [context, paint] of [[this.context, gapfinder.picture.paint], [this.strip, gapfinder.overview.paint]]) {
          context.setTransform(this.size.ratio, 0, 0, this.size.ratio, 0, 0);
          paint(context, this);
        }
        this.root.dataset.painted = this.root.dataset.state;
      });
    }

    writeAddress() {
      gapfinder.address.write(this);
    }

    readAddress() {
      return gapfinder.address.read(this);
    }

    close() {
      this.answers.close();
      clearTimeout(this.settling);
      cancelAnimationFrame(this.painting);
    }
  }

  gapfinder.Timeline = Timeline;

  /** Let the server open the profile and tell what the strip shows while the browser still reads the frame of the page. */
  async function prepare() {
    const base = /^(\/p\/[^/]+)\/timeline\/?$/.exec(window.location.pathname)?.[1];
    const facts = base && await gapfinder.data.soon(`${base}/lanes`).catch(() => null); // start tells a problem
    if (facts?.lanes.length && !gapfinder.current()) gapfinder.data.soon(`${base}/${gapfinder.overview.question({ facts })}`);
  }

  prepare(); // all that it needs is in the files before this one
})();
