/**
 * Draws what answers hold into rectangles: busy share as intensity, operations with names, holes with their flags.
 */
(() => {
  "use strict";
  const gapfinder = (window.gapfinder ??= {});

  const FONT = "11px system-ui, sans-serif";
  const LEAST_HOLE = 3; // px
  const PATTERNED_FROM = 5; // px: on less no pattern shows, and a plain fill is many times as fast
  const TINT = 0.3; // of a hole's colour over the row of compute, which is blank there
  const FLAGS_APART = 14; // px
  const NAMED_FROM = 22; // px wide
  const NAMED_HOLE = 46;
  const NAMED_HEIGHT = 12;
  const widths = new Map();

  /** `name` cut to `room` px; empty where not even a few letters fit. */
  function clipped(context, name, room) {
    const key = `${context.font} ${name}`;
    if (!widths.has(key)) {
      if (widths.size > 20000) widths.clear();
      widths.set(key, context.measureText(name).width);
    }
    const width = widths.get(key);
    if (width <= room) return name;
    for (let count = Math.floor((name.length * room) / width); count > 1; count -= 1) {
      const text = `${name.slice(0, count)}…`;
      if (context.measureText(text).width <= room) return text;
    }
    return "";
  }

  /** A picture one pixel high with the intensity of each column; made once for an answer and a colour. */
  function intensity(owner, share, [red, green, blue], key) {
    owner.pictures ??= new Map();
    if (!owner.pictures.has(key)) {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [share.length, 1];
      const context = canvas.getContext("2d");
      const image = context.createImageData(share.length, 1);
      for (let i = 0; i < share.length; i += 1) {
        image.data.set([red, green, blue, share[i] ? 40 + Math.round((share[i] * 215) / 255) : 0], 4 * i);
      }
      context.putImageData(image, 0, 0);
      owner.pictures.set(key, canvas);
    }
    return owner.pictures.get(key);
  }

  /** A picture one pixel high: of each column the cause of its longest hole, as intense as the column is blank. */
  function byColumn(holes, colors) {
    holes.pictures ??= new Map();
    if (!holes.pictures.has(colors.theme)) {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [holes.longest.length, 1];
      const context = canvas.getContext("2d");
      holes.longest.forEach((cause, column) => {
        if (cause >= colors.causes.length) return;
        context.globalAlpha = 0.25 + 0.75 * (holes.lost[column] / 255);
        context.fillStyle = colors.causes[cause].color;
        context.fillRect(column, 0, 1, 1);
      });
      holes.pictures.set(colors.theme, canvas);
    }
    return holes.pictures.get(colors.theme);
  }

  function drawShare(context, row, place, piece, paint, key) {
    const { answer, x } = piece;
    const picture = intensity(row, row.share, paint.channels, key);
    context.imageSmoothingEnabled = false;
    const left = x(answer.start);
    context.drawImage(picture, left, place.y, x(answer.end) - left, place.height);
  }

  function firstIn(starts, moment) {
    let [low, high] = [0, starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (starts[middle] < moment) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function drawMarks(context, row, place, piece, paint, isBordered) {
    const { answer, x, start, end } = piece;
    context.font = FONT;
    context.textBaseline = "middle";
    const to = firstIn(row.starts, end);
    let [last, lastDepth] = [-1, -1];
    for (let i = 0; i < to; i += 1) {
      if (row.ends[i] <= start) continue;
      const left = x(Math.max(row.starts[i], start));
      const right = x(Math.min(row.ends[i], end));
      const width = Math.max(1, right - left);
      const depth = row.depths[i];
      if (depth >= place.depth || (left + width <= last && depth === lastDepth && width < 1.5)) continue;
      [last, lastDepth] = [left + width, depth];
      const top = place.y + depth * place.line;
      const height = place.line - (place.depth > 1 ? 1 : 0);
      context.fillStyle = paint.color;
      context.fillRect(left, top, width > 2 ? width - 0.5 : width, height);
      if (width > 4 && isBordered) {
        context.fillStyle = "rgba(255,255,255,.35)";
        context.fillRect(left, top, 1, height);
      }
      if (width < NAMED_FROM || height < NAMED_HEIGHT) continue;
      const text = clipped(context, gapfinder.units.short(answer.names.get(row.names[i]) ?? ""), width - 6);
      context.fillStyle = paint.ink;
      context.fillText(text, left + 4, top + height / 2 + 0.5);
    }
  }

  /** Where a hole is in px: never narrower than can be seen. */
  function holeBox(starts, ends, i, x) {
    const left = x(starts[i]);
    const width = x(ends[i]) - left;
    return width >= LEAST_HOLE ? [left, width] : [left + width / 2 - LEAST_HOLE / 2, LEAST_HOLE];
  }

  function flag(context, x, y, color) {
    context.fillStyle = color;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + 7, y + 3);
    context.lineTo(x, y + 6);
    context.fill();
  }

  /** All holes that pass the filter, the longest on top, and flags on the longest of each neighbourhood. */
  function drawHoles(context, holes, place, piece, { colors, passes, below }) {
    const { answer, x, start, end } = piece;
    const flagged = new Set();
    const flags = [];
    const head = place.height > 14 ? 7 : 4;
    if (holes.shown < holes.of) {
      context.imageSmoothingEnabled = false;
      context.drawImage(byColumn(holes, colors), x(answer.start), place.y + head, x(answer.end) - x(answer.start), place.height - head - 2);
    }
    for (const i of holes.order) {
      if (holes.ends[i] <= start || holes.starts[i] >= end || !passes(holes, i)) continue;
      const [left, width] = holeBox(holes.starts, holes.ends, i, x);
      const cause = colors.causes[holes.causes[i]];
      context.fillStyle = width < PATTERNED_FROM ? cause.color : cause.fill;
      context.fillRect(left, place.y + head, width, place.height - head - 2);
      const reach = x(holes.ends[i]) - x(holes.starts[i]);
      if (reach < 1) continue; // wider than it is, it would hide compute
      context.globalAlpha = TINT;
      context.fillRect(x(holes.starts[i]), below.y, reach, below.height);
      context.globalAlpha = 1;
    }
    for (let k = holes.order.length - 1; k >= 0; k -= 1) {
      const i = holes.order[k];
      if (holes.ends[i] <= start || holes.starts[i] >= end || !passes(holes, i)) continue;
      const [left, width] = holeBox(holes.starts, holes.ends, i, x);
      const middle = Math.min(Math.max(left, x(start)) + 1, left + width / 2);
      const neighbourhood = Math.floor(middle / FLAGS_APART);
      if (flagged.has(neighbourhood)) continue;
      flagged.add(neighbourhood);
      flags.push([middle, holes.causes[i]]);
      const room = Math.min(left + width, x(end)) - Math.max(left, x(start));
      const box = room >= NAMED_HOLE ? nameBox(place, below, head) : null;
      if (box) nameHole(context, holes, i, { ...box, left: Math.max(left, x(start)), room }, colors);
    }
    for (const [at, cause] of flags) {
      if (place.height > 14) flag(context, at, place.y, colors.causes[cause].color);
      context.fillStyle = colors.causes[cause].color;
      context.fillRect(at - 0.5, place.y, 1.5, head);
    }
  }

  /** Where a hole's name has room from top to bottom: in its own row, else in that of compute, blank there; else null. */
  function nameBox(place, below, head) {
    const own = { top: place.y + head, height: place.height - head - 2 };
    if (own.height >= NAMED_HEIGHT) return own;
    return below.height >= NAMED_HEIGHT ? { top: below.y, height: below.height } : null;
  }

  function nameHole(context, holes, i, { left, room, top, height }, colors) {
    const { color, label, ink } = colors.causes[holes.causes[i]];
    const whole = `${gapfinder.units.duration(holes.ends[i] - holes.starts[i])} ${label}`;
    context.font = `600 ${FONT}`;
    const text = clipped(context, whole, room - 8);
    if (!text) return;
    context.fillStyle = color; // plain under the text, so that the pattern does not disturb it
    context.fillRect(left, top, Math.min(room, context.measureText(text).width + 8), height);
    context.fillStyle = ink;
    context.textBaseline = "middle";
    context.fillText(text, left + 4, top + height / 2 + 0.5);
  }

  gapfinder.draw = { FONT, clipped, drawShare, drawMarks, drawHoles, holeBox, firstIn, byColumn };
})();
