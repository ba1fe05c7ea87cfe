/**
 * What the server answered about stretches of the timeline: asked ahead of a pan, kept for the way back, and the best
 * of it for any view at once.
 */
(() => {
  "use strict";
  const gapfinder = (window.gapfinder ??= {});

  const TYPES = { f8: Float64Array, i4: Int32Array, u1: Uint8Array };
  const KEPT = 10;
  const MARGIN = 0.5; // of the view, asked for on each side
  const LEAST_MARGIN = 0.12; // of the view, left on each side, before more is asked for
  const PAUSE_MS = 60;
  const MOST_COLUMNS = 4096;

  /** A problem that a reader can understand, as the server told it. */
  class AnswerError extends Error {}

  /** The JSON at an address; AnswerError with the server's own line, or with what it means that none came. */
  async function json(address, signal) {
    let response;
    try {
      response = await fetch(address, { signal, headers: { Accept: "application/json" } });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new AnswerError("the server does not answer; it may have been stopped");
    }
    const body = await response.json().catch(() => null);
    if (response.ok && body !== null) return body;
    throw new AnswerError(body?.error ?? `the server answered ${response.status}`);
  }

  const early = new Map();

  /** Ask already; whoever asks `json` for the address next gets this answer. */
  function soon(address) {
    const answer = json(address);
    answer.catch(() => {}); // it is told to whoever asks
    early.set(address, answer);
    return answer;
  }

  /** The JSON at an address, perhaps asked for already. */
  function taken(address) {
    const answer = early.get(address) ?? json(address);
    early.delete(address);
    return answer;
  }

  function numbers(array) {
    const text = atob(array.data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
    return new TYPES[array.dtype](bytes.buffer);
  }

  function moments(array, start) {
    const values = numbers(array);
    for (let i = 0; i < values.length; i += 1) values[i] += start;
    return values;
  }

  function decodeRow(row, start) {
    if (row.mode === "share") return { mode: "share", share: numbers(row.share) };
    const optional = row.streams ? { streams: numbers(row.streams) } : {};
    return {
      mode: "marks", starts: moments(row.starts, start), ends: moments(row.ends, start),
      names: numbers(row.names), depths: numbers(row.depths), ids: numbers(row.ids), ...optional,
    };
  }

  function decodeHoles(holes, start) {
    const starts = moments(holes.starts, start);
    const ends = moments(holes.ends, start);
    const order = Uint32Array.from(starts.keys()).sort((a, b) => ends[a] - starts[a] - (ends[b] - starts[b]));
    const { shown, of } = holes;
    return { starts, ends, order, causes: numbers(holes.causes), ids: numbers(holes.ids), lost: numbers(holes.lost), longest: numbers(holes.longest), shown, of };
  }

  /** The server's answer with its numbers as arrays, times in ns since the profile's origin. */
  function decode(body) {
    const lanes = new Map();
    for (const one of body.lanes) {
      const rows = new Map(one.rows.map((row) => [row.row, decodeRow(row, body.start)]));
      lanes.set(one.lane, { rows, holes: one.holes ? decodeHoles(one.holes, body.start) : null });
    }
    const names = new Map(Object.entries(body.names).map(([code, text]) => [Number(code), gapfinder.units.visible(text)]));
    const isWhole = [...lanes.values()].every(
      (lane) => (!lane.holes || lane.holes.shown === lane.holes.of) && [...lane.rows.values()].every((row) => row.mode === "marks"),
    ) && body.marks.shown === body.marks.of;
    return { start: body.start, end: body.end, columns: body.columns, lanes, names, marks: body.marks, isWhole };
  }

  /** Answers about one block of lanes, newest last. */
  class Block {
    constructor(lanes, rows) {
      this.lanes = lanes;
      this.rows = rows;
      this.answers = [];
      this.pending = null;
    }

    keep(answer) {
      this.answers.push(answer);
      if (this.answers.length > KEPT) this.answers.splice(1, 1); // the first one is of the whole capture
    }

    /** The finest answer that covers all of the view; null where none does. */
    covering(view) {
      const all = this.answers.filter((one) => one.start <= view.start && one.end >= view.end);
      const finest = (a, b) => (b.end - b.start < a.end - a.start ? b : a);
      return all.length ? all.reduce(finest) : null;
    }

    /** What to draw from left to right: answers, each with the stretch of the view that it is for. */
    pieces(view) {
      const whole = this.covering(view);
      const reach = (one) => Math.min(one.end, view.end) - Math.max(one.start, view.start);
      const finer = this.answers.filter((one) => reach(one) > 0 && (!whole || one.end - one.start < whole.end - whole.start));
      if (!finer.length) return whole ? [{ answer: whole, ...view }] : [];
      const near = finer.reduce((a, b) => (reach(b) > reach(a) ? b : a));
      const start = Math.max(near.start, view.start);
      const end = Math.min(near.end, view.end);
      const middle = { answer: near, start, end };
      if (!whole || whole.isWhole) return [whole ? { answer: whole, ...view } : middle];
      return [
        { answer: whole, start: view.start, end: start }, middle, { answer: whole, start: end, end: view.end },
      ].filter((piece) => piece.end > piece.start);
    }
  }

  /** Asks for what a view needs, block by block, and tells `changed` when something came and `failed` when not. */
  class Answers {
    constructor(base, { changed, failed }) {
      this.base = base;
      this.blocks = new Map();
      this.changed = changed;
      this.failed = failed;
      this.timer = null;
    }

    block(lanes, rows) {
      const key = `${lanes}|${rows}`;
      if (!this.blocks.has(key)) this.blocks.set(key, new Block(lanes, rows));
      return this.blocks.get(key);
    }

    /** Whether everything asked for has come. */
    get isQuiet() {
      return this.timer === null && [...this.blocks.values()].every((block) => block.pending === null);
    }

    /** Ask, once the view has rested, for what the blocks in view lack. */
    want(wanted) {
      clearTimeout(this.timer);
      const pause = this.blocks.size && [...this.blocks.values()].every((block) => block.answers.length === 0) ? 0 : PAUSE_MS;
      this.timer = setTimeout(() => {
        this.timer = null;
        const now = wanted();
        for (const block of now.blocks) this.#ask(block, now);
        this.changed();
      }, pause); // what is seen first is asked for at once
    }

    close() {
      clearTimeout(this.timer);
      for (const block of this.blocks.values()) block.pending?.controller.abort();
    }

    #suffices(answer, { view, width, end, filter }) {
      const span = view.end - view.start;
      const left = view.start - answer.start >= LEAST_MARGIN * span || answer.start <= 0;
      const right = answer.end - view.end >= LEAST_MARGIN * span || answer.end >= end;
      const fine = answer.isWhole || (answer.end - answer.start) / answer.asked <= 1.05 * (span / width);
      return answer.filter === filter && left && right && fine;
    }

    async #ask(block, wanted) {
      const { view, width, end, filter } = wanted;
      if (block.answers.some((answer) => this.#suffices(answer, wanted))) return;
      const span = view.end - view.start;
      const start = Math.max(0, Math.floor(view.start - MARGIN * span));
      const stop = Math.min(end, Math.ceil(view.end + MARGIN * span));
      const columns = Math.min(MOST_COLUMNS, Math.max(1, Math.ceil((width * (stop - start)) / span)));
      const query = `start=${start}&end=${stop}&columns=${columns}&lanes=${block.lanes}&rows=${block.rows}${filter}`;
      if (block.pending?.query === query) return;
      block.pending?.controller.abort();
      const pending = { controller: new AbortController(), query };
      block.pending = pending;
      try {
        const answer = decode(await json(`${this.base}/window?${query}`, pending.controller.signal));
        block.keep(Object.assign(answer, { filter, asked: columns }));
        this.failed(null);
      } catch (error) {
        if (error instanceof AnswerError) this.failed(error);
        else if (error.name !== "AbortError") throw error;
      } finally {
        if (block.pending === pending) block.pending = null;
        this.changed();
      }
    }
  }

  gapfinder.data = { json, soon, taken, decode, Answers, AnswerError };
})();
