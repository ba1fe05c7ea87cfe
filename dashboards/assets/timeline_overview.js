/**
 * The strip above the lanes: the whole capture, one line a lane, where holes are; a box marks what is in view.
 */
(() => {
  "use strict";
  const gapfinder = (window.gapfinder ??= {});

  const HEIGHT = 44;
  const MOST_LANES = 40;
  const COLUMNS = 800;

  /** The question for what the strip shows: holes of the whole capture, of evenly chosen lanes where there are many. */
  function question(timeline) {
    const { lanes, end } = timeline.facts;
    const every = Math.ceil(lanes.length / MOST_LANES);
    const chosen = lanes.filter((_, place) => place % every === 0).map((lane) => lane.lane);
    return `window?start=0&end=${end}&columns=${COLUMNS}&lanes=${chosen}&rows=holes`;
  }

  /** Draw the strip: what does not change while the view does is drawn once. */
  function paint(context, timeline) {
    const { colors, size, facts, view } = timeline;
    const key = [timeline.overview?.start, size.width, size.ratio, colors.theme].join();
    if (timeline.stripPicture?.key !== key) timeline.stripPicture = { key, canvas: still(timeline) };
    context.drawImage(timeline.stripPicture.canvas, 0, 0, size.width, HEIGHT);
    const x = (ns) => size.gutter + (ns / facts.end) * (size.width - size.gutter);
    drawBox(context, x(view.start), x(view.end), { colors, size });
  }

  function still({ colors, size, facts, overview }) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.round(size.width * size.ratio), Math.round(HEIGHT * size.ratio)];
    const context = canvas.getContext("2d");
    context.scale(size.ratio, size.ratio);
    const width = size.width - size.gutter;
    const x = (ns) => size.gutter + (ns / facts.end) * width;
    context.fillStyle = colors.page;
    context.fillRect(0, 0, size.width, HEIGHT);
    context.fillStyle = colors.blank;
    context.fillRect(size.gutter, 2, width, HEIGHT - 4);
    context.fillStyle = colors.quiet;
    context.font = gapfinder.draw.FONT;
    context.textBaseline = "middle";
    context.fillText(gapfinder.draw.clipped(context, "whole capture", size.gutter - 10), 8, 14);
    context.fillText(gapfinder.units.duration(facts.end), 8, 30);
    const lanes = [...(overview?.lanes ?? [])];
    const line = (HEIGHT - 4) / Math.max(1, lanes.length);
    lanes.forEach(([, lane], place) => drawLine(context, lane.holes, 2 + place * line, line, { x, colors, answer: overview }));
    return canvas;
  }

  function drawLine(context, holes, y, height, { x, colors, answer }) {
    if (!holes) return;
    context.imageSmoothingEnabled = false;
    const picture = gapfinder.draw.byColumn(holes, colors);
    context.drawImage(picture, x(answer.start), y, x(answer.end) - x(answer.start), Math.max(1, height - 0.5));
    for (const i of holes.order) {
      const [left, right] = [x(holes.starts[i]), x(holes.ends[i])];
      if (right - left < 1) continue; // the columns tell how much of them is blank
      context.fillStyle = colors.causes[holes.causes[i]].color;
      context.fillRect(left, y, right - left, Math.max(1, height - 0.5));
    }
  }

  function drawBox(context, left, right, { colors, size }) {
    const width = Math.max(4, right - left);
    context.fillStyle = colors.page;
    context.globalAlpha = 0.55;
    context.fillRect(size.gutter, 2, left - size.gutter, HEIGHT - 4);
    context.fillRect(left + width, 2, size.width - left - width, HEIGHT - 4);
    context.globalAlpha = 1;
    context.strokeStyle = colors.ink;
    context.lineWidth = 2;
    context.strokeRect(left + 1, 1.5, width - 2, HEIGHT - 3);
  }

  /** Let the pointer move the box: inside it it is dragged, elsewhere a press brings it there. */
  function attach(canvas, timeline) {
    let grip = null;
    const at = (event) => {
      const share = (event.offsetX - timeline.size.gutter) / (timeline.size.width - timeline.size.gutter);
      return share * timeline.facts.end;
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.offsetX < timeline.size.gutter) return;
      const { start, end } = timeline.view;
      const moment = at(event);
      grip = moment >= start && moment <= end ? moment - start : (end - start) / 2;
      canvas.setPointerCapture(event.pointerId);
      timeline.show({ start: moment - grip, end: moment - grip + end - start });
    });
    canvas.addEventListener("pointermove", (event) => {
      if (grip === null) return;
      const { start, end } = timeline.view;
      timeline.show({ start: at(event) - grip, end: at(event) - grip + end - start });
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { grip = null; });
  }

  gapfinder.overview = { HEIGHT, question, paint, attach };
})();
