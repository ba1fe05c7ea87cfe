/**
 * The picture to save: title, whole height of the lanes in view, legend.
 */
(() => {
  "use strict";
  const gapfinder = (window.gapfinder ??= {});

  const TITLE = 44; // px
  const LEGEND = 26;
  const RATIO = 2; // device pixels for one px, so that it prints well

  function drawTitle(context, timeline, width) {
    const { duration } = gapfinder.units;
    const { colors, facts, view } = timeline;
    context.fillStyle = colors.ink;
    context.textBaseline = "middle";
    context.font = "600 15px system-ui, sans-serif";
    context.fillText(gapfinder.draw.clipped(context, facts.name, width - 24), 12, 15);
    context.font = gapfinder.draw.FONT;
    context.fillStyle = colors.quiet;
    context.fillText(`${duration(Math.round(view.start))} to ${duration(Math.round(view.end))} of ${duration(facts.end)}`, 12, 33);
  }

  function drawLegend(context, timeline, y, width) {
    const { colors, facts, palette } = timeline;
    let x = 12;
    context.font = gapfinder.draw.FONT;
    context.textBaseline = "middle";
    for (const one of facts.causes) {
      const place = palette.causes.findIndex((cause) => cause.cause === one.cause);
      const room = 26 + context.measureText(one.label).width + 14;
      if (x + room > width) break;
      context.fillStyle = colors.causes[place].fill;
      context.fillRect(x, y + 7, 18, 12);
      context.fillStyle = colors.ink;
      context.fillText(one.label, x + 24, y + 13);
      x += room;
    }
  }

  /** A canvas with everything that is in view. */
  function make(timeline) {
    const { width, height } = timeline.size;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width * RATIO, (height + TITLE + LEGEND) * RATIO];
    const context = canvas.getContext("2d");
    context.scale(RATIO, RATIO);
    context.fillStyle = timeline.colors.page;
    context.fillRect(0, 0, width, height + TITLE + LEGEND);
    drawTitle(context, timeline, width);
    drawLegend(context, timeline, TITLE + height, width);
    context.beginPath();
    context.rect(0, TITLE, width, height);
    context.clip();
    context.translate(0, TITLE);
    const { hover } = timeline;
    timeline.hover = null;
    gapfinder.picture.paint(context, timeline);
    timeline.hover = hover;
    return canvas;
  }

  /** A file name from the profile's name: letters, digits, dots and dashes only. */
  function fileName({ facts }) {
    const safe = facts.name.replace(/[^\p{L}\p{N}.-]+/gu, "_").slice(0, 60);
    return `${safe || "timeline"}.png`;
  }

  gapfinder.image = { make, fileName };
})();
