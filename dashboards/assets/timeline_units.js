/**
 * Texts of times, and the marks of a time axis. Numbers read as `gapfinder.units` writes them: a test compares both.
 */
(() => {
  "use strict";
  const gapfinder = (window.gapfinder ??= {});

  const UNITS = [["µs", 1e3], ["ms", 1e6], ["s", 1e9]];
  const DIGITS = [[3, 10], [2, 100], [1, 1000]];
  const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

  /** `value` with that many decimals; a tie goes to the even digit, as in Python. */
  function fixed(value, decimals) {
    const scaled = value * 10 ** decimals;
    const below = Math.floor(scaled);
    return scaled - below === 0.5 && below % 2 === 0 ? (below / 10 ** decimals).toFixed(decimals) : value.toFixed(decimals);
  }

  /** A duration with four significant digits and a fitting unit ("1.234 ms"); below 1 µs it is exact. */
  function duration(ns) {
    if (Math.abs(ns) < 1e3) return `${Math.round(ns)} ns`;
    for (const [unit, size] of UNITS) {
      const value = ns / size;
      for (const [decimals, limit] of DIGITS) {
        const text = fixed(value, decimals);
        if (Math.abs(Number(text)) < limit) return `${text} ${unit}`;
      }
    }
    const text = fixed(ns / 1e9, 1);
    return `${text.replace(/\B(?=(\d{3})+(?!\d))/g, ",")} s`;
  }

  /** The moments to mark between two, a round step apart and at least `apart` px from each other. */
  function ticks(start, end, width, apart) {
    const least = ((end - start) / Math.max(width, 1)) * apart;
    const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
    const step = Math.max(1, [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= least) ?? 10 * power);
    const values = [];
    for (let at = Math.ceil(start / step) * step; at <= end; at += step) values.push(at);
    return { step, values };
  }

  /** A moment to as many digits as marks a `step` apart need, in the unit that fits `end`. */
  function moment(ns, step, end) {
    const [unit, size] = UNITS[end < 1e6 ? 0 : end < 1e9 ? 1 : 2];
    return `${(ns / size).toFixed(Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9)))} ${unit}`;
  }

  /** A name in which every character shows: what does not print, or turns the direction, is spelled out. */
  function visible(text) {
    return text.replace(UNSEEN, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);
  }

  /** A name without return type, namespaces, template arguments and parameters, for where there is little room. */
  function short(name) {
    const bare = name.replace(/^void /, "").replace(/(<unnamed>|\(anonymous namespace\)|\{anonymous\})::/g, "");
    const cut = bare.search(/[<(]/);
    if (cut <= 0) return name;
    return bare.slice(0, cut).split("::").at(-1) || name;
  }

  gapfinder.units = { duration, ticks, moment, visible, short };
})();
