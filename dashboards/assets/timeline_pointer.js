/**
 * Mouse and pen: what lies under the pointer, tooltip, wheel, drag, box, choice.
 */
(() => {
  "use strict";
  const gapfinder = (window.gapfinder ??= {});

  const NEAR = 4; // px around the pointer
  const MOVED = 4; // px that make a press a drag
  const LOOKED_BACK = 400; // operations before the pointer that may still run there

  function holeUnder(holes, moment, slack, passes) {
    for (let k = holes.order.length - 1; k >= 0; k -= 1) { // the longest is on top
      const i = holes.order[k];
      if (holes.starts[i] - slack <= moment && holes.ends[i] + slack >= moment && passes(holes, i)) return i;
    }
    return -1;
  }

  function markUnder(row, moment, slack, depth) {
    let [best, distance] = [-1, Infinity];
    const last = gapfinder.draw.firstIn(row.starts, moment + slack);
    for (let i = last - 1; i >= Math.max(0, last - LOOKED_BACK); i -= 1) {
      const off = Math.max(row.starts[i] - moment, moment - row.ends[i], 0);
      if (row.depths[i] === depth && off <= slack && off < distance) [best, distance] = [i, off];
    }
    return best;
  }

  /** What is drawn at a place of the canvas: an item, its row, and a hole, an operation or a busy share. */
  function under(timeline, x, y) {
    const { item, row, depth } = gapfinder.lanes.at(timeline.layout.items, y - gapfinder.picture.AXIS + timeline.scroll);
    if (!item || x < timeline.size.gutter || item.kind !== "lane") return { item: x < timeline.size.gutter ? item : undefined };
    const moment = gapfinder.picture.momentAt(timeline, x);
    const piece = timeline.blockOf(item.lane.lane)?.pieces(timeline.view).find((one) => one.start <= moment && one.end >= moment);
    const answered = piece?.answer.lanes.get(item.lane.lane);
    if (!answered || !row) return { item, moment };
    const slack = ((timeline.view.end - timeline.view.start) / timeline.size.width) * NEAR;
    const found = { item, row, moment, lane: item.lane.lane };
    if (row.row === "holes") return answered.holes ? { ...found, ...hole(answered.holes, holeUnder(answered.holes, moment, slack, timeline.passes)) } : found;
    const marks = answered.rows.get(row.row);
    if (!marks) return found;
    if (marks.mode === "share") {
      const { start, end, columns } = piece.answer;
      const column = Math.min(columns - 1, Math.floor(((moment - start) / (end - start)) * columns));
      return { ...found, share: marks.share[column], ns: (end - start) / columns };
    }
    const i = markUnder(marks, moment, slack, depth);
    if (i < 0) return found;
    const name = piece.answer.names.get(marks.names[i]) ?? "";
    return { ...found, op: marks.ids[i], start: marks.starts[i], end: marks.ends[i], name, depth, stream: marks.streams?.[i] };
  }

  function hole(holes, i) {
    return i < 0 ? {} : { hole: holes.ids[i], start: holes.starts[i], end: holes.ends[i], cause: holes.causes[i] };
  }

  function lines(timeline, found) {
    const { duration } = gapfinder.units;
    const where = `${found.item.lane.label}, ${gapfinder.lanes.WORDS[found.row.row]}`;
    if (found.hole !== undefined) return [`${duration(found.end - found.start)} hole`, timeline.colors.causes[found.cause].label, where];
    if (found.op !== undefined) {
      const stream = found.stream === undefined ? "" : `, stream ${found.stream}`;
      return [found.name, duration(found.end - found.start), where + stream];
    }
    if (found.share === undefined) return null;
    const percent = found.share === 0 ? "nothing" : found.share === 255 ? "busy all the time" : `busy ${Math.max(1, Math.min(99, Math.round((found.share * 100) / 255)))} %`;
    return [`${percent} in ${duration(Math.round(found.ns))}`, where];
  }

  function showTooltip(timeline, found, x, y) {
    const { tooltip, stage } = timeline.parts;
    const text = found.row ? lines(timeline, found) : found.item?.lane ? [found.item.lane.label, found.item.lane.host, found.item.lane.detail].filter(Boolean) : null;
    tooltip.hidden = text === null;
    if (text === null) return;
    tooltip.replaceChildren(...text.map((line, place) => gapfinder.parts.el(place ? "span" : "b", {}, line)));
    const left = Math.max(0, Math.min(x + 14, stage.clientWidth - tooltip.offsetWidth - 4));
    const top = y + 18 + gapfinder.overview.HEIGHT;
    const above = top - tooltip.offsetHeight - 32;
    const stageTop = stage.getBoundingClientRect().top;
    const isBelowPage = stageTop + top + tooltip.offsetHeight > window.innerHeight;
    tooltip.style.left = `${left}px`;
    tooltip.style.top = `${isBelowPage && stageTop + above > 0 ? above : top}px`;
  }

  function press(timeline, event) {
    const { AXIS } = gapfinder.picture;
    const { gutter } = timeline.size;
    const { offsetX: x, offsetY: y } = event;
    if (event.button !== 0) return null;
    const boxed = x >= gutter && (event.shiftKey || y < AXIS);
    return { x, y, view: { ...timeline.view }, scroll: timeline.scroll, how: boxed ? "box" : x < gutter ? "names" : "pan", moved: false };
  }

  function drag(timeline, grip, x, y) {
    grip.moved ||= Math.abs(x - grip.x) + Math.abs(y - grip.y) > MOVED;
    if (!grip.moved) return;
    timeline.parts.tooltip.hidden = true;
    if (grip.how === "box") {
      timeline.box = { from: grip.x, to: Math.max(timeline.size.gutter, x) };
      timeline.repaint();
      return;
    }
    timeline.scrollTo(grip.scroll - (y - grip.y));
    if (grip.how === "names") return;
    const moved = ((x - grip.x) * (grip.view.end - grip.view.start)) / (timeline.size.width - timeline.size.gutter);
    timeline.show({ start: grip.view.start - moved, end: grip.view.end - moved });
  }

  function release(timeline, grip, x, y) {
    if (grip.how === "box" && timeline.box) {
      const ends = [timeline.box.from, timeline.box.to].map((at) => gapfinder.picture.momentAt(timeline, at));
      timeline.box = null;
      timeline.glide({ start: Math.min(...ends), end: Math.max(...ends) });
    } else if (!grip.moved) {
      const found = under(timeline, x, y);
      if (grip.how === "names") timeline.actions.toggle(found.item);
      else timeline.choose(found.hole === undefined && found.op === undefined ? null : found);
    }
  }

  function wheel(timeline, event) {
    event.preventDefault();
    const { view } = timeline;
    const span = view.end - view.start;
    const scale = event.deltaMode === 1 ? 16 : 1;
    if (event.offsetX < timeline.size.gutter) return timeline.scrollTo(timeline.scroll + event.deltaY * scale);
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const moved = (sideways * scale * span) / timeline.size.width;
      return timeline.show({ start: view.start + moved, end: view.end + moved });
    }
    const factor = Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY * scale * 0.0022)));
    return timeline.zoom(factor, gapfinder.picture.momentAt(timeline, event.offsetX));
  }

  /** Listen on the canvas. */
  function attach(canvas, timeline) {
    let grip = null;
    canvas.addEventListener("pointerdown", (event) => {
      grip = press(timeline, event);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", ({ offsetX: x, offsetY: y }) => {
      timeline.hover = { x, y };
      if (grip) drag(timeline, grip, x, y);
      else showTooltip(timeline, under(timeline, x, y), x, y);
      timeline.repaint();
    });
    canvas.addEventListener("pointerup", ({ offsetX: x, offsetY: y }) => {
      if (grip) release(timeline, grip, x, y);
      grip = null;
    });
    canvas.addEventListener("pointercancel", () => { grip = timeline.box = null; });
    canvas.addEventListener("pointerleave", () => {
      timeline.hover = null;
      timeline.parts.tooltip.hidden = true;
      timeline.repaint();
    });
    canvas.addEventListener("dblclick", ({ offsetX: x, offsetY: y }) => {
      const found = under(timeline, x, y);
      if (found.start !== undefined) timeline.zoomTo(found);
    });
    canvas.addEventListener("wheel", (event) => wheel(timeline, event), { passive: false });
  }

  gapfinder.pointer = { attach, under };
})();
