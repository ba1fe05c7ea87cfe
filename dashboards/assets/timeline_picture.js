/**
 * The whole picture: time axis, names of lanes at the left, lanes with their rows, what is chosen, the pointer's moment.
 */
(() => {
  "use strict";
  const gapfinder = (window.gapfinder ??= {});

  const GUTTER = { wide: 168, narrow: 76 }; // px, names of lanes
  const NARROW = 600; // px, of the whole picture
  const AXIS = 26; // px
  const TICKS_APART = 118; // px

  /** The room for names at the left of a picture so wide, in px. */
  function gutterOf(width) {
    return width < NARROW ? GUTTER.narrow : GUTTER.wide;
  }

  /** The function from ns since the origin to px. */
  function scaleOf({ view, size }) {
    const factor = (size.width - size.gutter) / (view.end - view.start);
    return (ns) => size.gutter + (ns - view.start) * factor;
  }

  /** The moment under a place in px. */
  function momentAt({ view, size }, x) {
    return view.start + ((x - size.gutter) / (size.width - size.gutter)) * (view.end - view.start);
  }

  function drawAxis(context, { view, size, colors }, x) {
    const { step, values } = gapfinder.units.ticks(view.start, view.end, size.width - size.gutter, TICKS_APART);
    context.font = gapfinder.draw.FONT;
    context.textBaseline = "middle";
    for (const value of values) {
      const at = Math.round(x(value)) + 0.5;
      context.fillStyle = colors.line;
      context.fillRect(at, AXIS - 6, 1, size.height);
      context.fillStyle = colors.quiet;
      const text = gapfinder.units.moment(value, step, view.end);
      const left = at + 4;
      if (left + context.measureText(text).width < size.width) context.fillText(text, left, AXIS / 2);
    }
    context.fillStyle = colors.line;
    context.fillRect(0, AXIS - 1, size.width, 1);
  }

  function drawRow(context, item, row, piece, timeline) {
    const { colors } = timeline;
    const answered = piece.answer.lanes.get(item.lane.lane);
    if (row.row === "holes") {
      const below = item.rows.find((one) => one.row === "compute") ?? row;
      if (answered?.holes) gapfinder.draw.drawHoles(context, answered.holes, row, piece, { colors, passes: timeline.passes, below });
      return;
    }
    const marks = answered?.rows.get(row.row);
    const paint = colors.rows[row.row];
    if (marks?.mode === "share") {
      gapfinder.draw.drawShare(context, marks, row, piece, paint, `${colors.theme} ${row.row}`);
    } else if (marks) {
      gapfinder.draw.drawMarks(context, marks, row, piece, paint, row.row !== "steps");
    }
    if (marks && row.row === "steps") drawStepEdges(context, marks, item, piece, colors);
  }

  /** Thin lines where steps begin, down the whole lane, as long as they do not crowd. */
  function drawStepEdges(context, marks, item, piece, colors) {
    if (marks.starts.length > 60) return;
    context.fillStyle = colors.quiet;
    context.globalAlpha = 0.5;
    for (const start of marks.starts) context.fillRect(piece.x(start), item.y, 1, item.height - 4);
    context.globalAlpha = 1;
  }

  function drawLane(context, item, timeline, x) {
    const { colors, size, view, selection } = timeline;
    for (const row of item.rows) {
      if (row.row === "holes") continue;
      context.fillStyle = colors.blank;
      context.fillRect(size.gutter, row.y, size.width - size.gutter, row.height);
    }
    for (const piece of timeline.blockOf(item.lane.lane)?.pieces(view) ?? []) {
      context.save();
      context.beginPath();
      context.rect(x(piece.start), item.y, x(piece.end) - x(piece.start), item.height);
      context.clip();
      for (const row of [...item.rows].reverse()) drawRow(context, item, row, { ...piece, x }, timeline); // holes last
      context.restore();
    }
    if (selection?.lane === item.lane.lane && selection.start !== undefined) drawChosen(context, item, timeline, x);
  }

  function drawChosen(context, item, { selection, colors }, x) {
    const [left, width] = gapfinder.draw.holeBox([selection.start], [selection.end], 0, x);
    const row = selection.hole === undefined ? item.rows.find((one) => one.row === selection.row) : null;
    const depth = Math.min(selection.depth ?? 0, (row?.depth ?? 1) - 1);
    const [top, height] = row ? [row.y + depth * row.line, row.line] : [item.y, item.height - 4];
    if (!row) {
      context.fillStyle = colors.ink;
      context.globalAlpha = 0.08;
      context.fillRect(left, top, width, height);
      context.globalAlpha = 1;
    }
    context.strokeStyle = colors.ink;
    context.lineWidth = 2;
    context.strokeRect(left - 1, top, width + 2, height);
  }

  function drawLaneName(context, item, { colors, gutter }) {
    const { clipped } = gapfinder.draw;
    const { SHORT, WORDS } = gapfinder.lanes;
    const isNarrow = gutter < GUTTER.wide;
    const isTall = item.height > 34;
    const line = item.y + (isTall ? 13 : item.height / 2 - 2);
    const [named, told] = item.isOpen && !isNarrow ? [gutter - 58, gutter - 68] : [gutter - 12, gutter - 24];
    context.fillText(clipped(context, `${item.isOpen ? "▾" : "▸"} ${item.lane.label}`, named), 8, line);
    context.font = gapfinder.draw.FONT;
    context.fillStyle = colors.quiet;
    if (isTall && !(item.isOpen && isNarrow)) context.fillText(clipped(context, item.lane.detail, told), 19, line + 15);
    if (!item.isOpen) return;
    context.textAlign = "right";
    for (const row of item.rows) {
      if (isNarrow && row === item.rows[0]) continue; // the lane's name is there
      context.fillText((isNarrow ? SHORT : WORDS)[row.row], gutter - 8, row.y + Math.min(row.height, 20) / 2 + (row.row === "holes" ? 4 : 0));
    }
    context.textAlign = "left";
  }

  function drawNames(context, items, { colors, size: { gutter } }) {
    for (const item of items) {
      context.textBaseline = "middle";
      context.fillStyle = colors.ink;
      context.font = `600 ${gapfinder.draw.FONT}`;
      if (item.kind === "host") {
        context.fillText(`${item.isOpen ? "▾" : "▸"} ${item.host ?? "host not known"}`, 8, item.y + item.height / 2);
        continue;
      }
      drawLaneName(context, item, { colors, gutter });
      context.fillStyle = colors.line;
      context.fillRect(0, item.y + item.height - 4, gutter, 1);
    }
  }

  function drawPointer(context, { hover, view, size, colors, selection }) {
    if (!hover || hover.x < size.gutter) return;
    const at = momentAt({ view, size }, hover.x);
    context.fillStyle = colors.quiet;
    context.fillRect(hover.x, AXIS, 1, size.height);
    const step = (view.end - view.start) / (size.width - size.gutter);
    const from = selection?.start ?? view.start;
    const whence = selection?.start === undefined ? "from the left" : "from the chosen one";
    const sign = at < from ? "−" : "+";
    const text = `${gapfinder.units.moment(at, step, view.end)}  ${sign}${gapfinder.units.duration(Math.abs(Math.round(at - from)))} ${whence}`;
    context.font = gapfinder.draw.FONT;
    const width = context.measureText(text).width + 10;
    const left = Math.min(hover.x, size.width - width);
    context.fillStyle = colors.ink;
    context.fillRect(left, 3, width, AXIS - 8);
    context.fillStyle = colors.page;
    context.textBaseline = "middle";
    context.fillText(text, left + 5, AXIS / 2 - 0.5);
  }

  function drawBox(context, { box, size, colors }) {
    if (!box) return;
    context.fillStyle = colors.ink;
    context.globalAlpha = 0.15;
    context.fillRect(Math.min(box.from, box.to), AXIS, Math.abs(box.to - box.from), size.height);
    context.globalAlpha = 1;
  }

  function drawScrollbar(context, { scroll, layout, size, colors }) {
    const room = size.height - AXIS;
    if (layout.height <= room) return;
    context.fillStyle = colors.quiet;
    context.fillRect(size.width - 5, AXIS + (scroll / layout.height) * room, 4, Math.max(20, (room / layout.height) * room));
  }

  /** Draw all of it; the context is scaled to CSS px already. */
  function paint(context, timeline) {
    const { size, colors, layout, scroll } = timeline;
    const x = scaleOf(timeline);
    context.fillStyle = colors.page;
    context.fillRect(0, 0, size.width, size.height);
    drawAxis(context, timeline, x);
    context.save();
    context.beginPath();
    context.rect(0, AXIS, size.width, size.height - AXIS);
    context.clip();
    context.translate(0, AXIS - scroll);
    const bottom = scroll + size.height - AXIS;
    const items = layout.items.filter((item) => item.y < bottom && item.y + item.height > scroll);
    context.save();
    context.beginPath();
    context.rect(size.gutter, scroll, size.width - size.gutter, size.height);
    context.clip();
    for (const item of items) if (item.kind === "lane") drawLane(context, item, timeline, x);
    context.restore();
    drawNames(context, items, timeline);
    context.restore();
    context.fillStyle = colors.line;
    context.fillRect(size.gutter - 1, 0, 1, size.height);
    drawBox(context, timeline);
    drawPointer(context, timeline);
    drawScrollbar(context, timeline);
  }

  gapfinder.picture = { AXIS, gutterOf, paint, scaleOf, momentAt };
})();
