/**
 * Colours and patterns of the palette as a canvas wants them, for the theme in force.
 */
(() => {
  "use strict";
  const gapfinder = (window.gapfinder ??= {});

  const TILE = 6;

  const STROKES = {
    "/": [[0, TILE, TILE, 0], [-1, 1, 1, -1], [TILE - 1, TILE + 1, TILE + 1, TILE - 1]],
    "\\": [[0, 0, TILE, TILE], [-1, TILE - 1, 1, TILE + 1], [TILE - 1, -1, TILE + 1, 1]],
    "-": [[0, TILE / 2, TILE, TILE / 2]],
    "|": [[TILE / 2, 0, TILE / 2, TILE]],
  };
  STROKES.x = [...STROKES["/"], ...STROKES["\\"]];
  STROKES["+"] = [...STROKES["-"], ...STROKES["|"]];

  /** One tile of a colour with its pattern, in device pixels. */
  function tile(color, pattern, mark, ratio) {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = Math.round(TILE * ratio);
    const context = canvas.getContext("2d");
    context.scale(canvas.width / TILE, canvas.height / TILE);
    context.fillStyle = color;
    context.fillRect(0, 0, TILE, TILE);
    context.strokeStyle = context.fillStyle = mark;
    context.globalAlpha = 0.75;
    context.lineWidth = 1.2;
    context.beginPath();
    for (const [x0, y0, x1, y1] of STROKES[pattern] ?? []) {
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
    }
    context.stroke();
    if (pattern === ".") context.fillRect(TILE / 2 - 1, TILE / 2 - 1, 2, 2);
    return canvas;
  }

  function fill(context, paint, theme, mark, ratio) {
    if (!paint.pattern) return paint[theme];
    const pattern = context.createPattern(tile(paint[theme], paint.pattern, mark, ratio), "repeat");
    pattern.setTransform(new DOMMatrix().scale(1 / ratio));
    return pattern;
  }

  function channels(color) {
    return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  }

  /** Black or white, whichever reads better on a colour. */
  function inkOn(color) {
    const [red, green, blue] = channels(color).map((one) => {
      const share = one / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#000000" : "#ffffff";
  }

  /** What to draw with: plain colours by name, fills with patterns for causes, colours of rows. */
  function colors(palette, theme, context, ratio) {
    const plain = (name) => palette[name][theme];
    const mark = plain("mark");
    const causes = palette.causes.map((cause) => ({
      color: cause[theme], fill: fill(context, cause, theme, mark, ratio), label: cause.label, ink: inkOn(cause[theme]),
    }));
    const rows = Object.fromEntries(Object.entries(palette.rows).map(
      ([row, paint]) => [row, { color: paint[theme], ink: inkOn(paint[theme]), channels: channels(paint[theme]) }],
    ));
    const names = ["page", "ink", "quiet", "line", "blank"];
    return { theme, causes, rows, ...Object.fromEntries(names.map((name) => [name, plain(name)])) };
  }

  /** A small picture of a cause's colour and pattern, for the legend. */
  function swatch(cause, palette, theme) {
    const canvas = document.createElement("canvas");
    const ratio = Math.max(1, window.devicePixelRatio);
    [canvas.width, canvas.height] = [Math.round(18 * ratio), Math.round(12 * ratio)];
    canvas.setAttribute("aria-hidden", "true");
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.fillStyle = fill(context, cause, theme, palette.mark[theme], ratio);
    context.fillRect(0, 0, 18, 12);
    return canvas;
  }

  gapfinder.colors = { colors, swatch };
})();
