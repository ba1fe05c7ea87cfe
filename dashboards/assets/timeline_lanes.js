/**
 * Where lanes and their rows lie from top to bottom, and which of them have to be asked for together.
 */
(() => {
  "use strict";
  const gapfinder = (window.gapfinder ??= {});

  const LINE = 13; // height of one depth of ranges or calls
  const HEIGHTS = { holes: 24, steps: 15, compute: 20, communication: 16, copies: 10, graphs: 16 };
  const GATHERED = { holes: 12, compute: 12, communication: 5 }; // rows of a lane that is closed
  const MOST_DEPTH = { ranges: 6, calls: 2 };
  const MOST_STRETCH = 2; // of closed lanes, where there is room
  const HOST = 22;
  const SPACE = 8;
  const BLOCK = { open: 4, closed: 24 }; // lanes in one request

  const WORDS = {
    holes: "holes", steps: "steps", compute: "compute", communication: "communication", copies: "copies",
    graphs: "graphs", ranges: "NVTX ranges", calls: "host calls",
  };

  const SHORT = { ...WORDS, communication: "comm.", ranges: "ranges", calls: "calls" };

  function openRows(lane, y) {
    let at = y;
    return lane.rows.map((row) => {
      const depth = Math.min(MOST_DEPTH[row] ?? 0, Math.max(1, lane[`${row}_depth`] ?? 1));
      const height = depth ? depth * LINE : HEIGHTS[row];
      const placed = { row, y: at, height, line: depth ? LINE : height, depth: Math.max(1, depth) };
      at += height + 2;
      return placed;
    });
  }

  function closedRows(lane, y, stretch) {
    let at = y;
    return lane.rows.filter((row) => row in GATHERED).map((row) => {
      const height = Math.round(GATHERED[row] * stretch);
      const placed = { row, y: at, height, line: height, depth: 1 };
      at += height + 1;
      return placed;
    });
  }

  /**
   * Lanes from top to bottom: items with their y, and the height of all. A host is named where there are several;
   * closed lanes are higher where they would leave much of `room` empty.
   */
  function layout(lanes, choice, room) {
    const once = placed(lanes, choice, 1);
    const stretch = Math.min(MOST_STRETCH, room / Math.max(once.height, 1));
    return stretch > 1 ? placed(lanes, choice, stretch) : once;
  }

  function placed(lanes, { shown, open, closedHosts }, stretch) {
    const items = [];
    const hosts = new Set(lanes.map((lane) => lane.host));
    let y = 0;
    let host;
    for (const lane of lanes.filter((one) => shown.has(one.lane))) {
      if (hosts.size > 1 && lane.host !== host) {
        items.push({ kind: "host", host: lane.host, y, height: HOST, isOpen: !closedHosts.has(lane.host) });
        y += HOST;
      }
      host = lane.host;
      if (closedHosts.has(host) && hosts.size > 1) continue;
      const isOpen = open.has(lane.lane);
      const rows = isOpen ? openRows(lane, y + 2) : closedRows(lane, y + 2, stretch);
      const last = rows.at(-1);
      const height = (last ? last.y + last.height - y : 16) + SPACE;
      items.push({ kind: "lane", lane, rows, y, height, isOpen });
      y += height;
    }
    return { items, height: y };
  }

  /** Whether a row shows in a lane that is closed. */
  function isGathered(row) {
    return row in GATHERED;
  }

  /** All lanes as blocks that are asked for in one request each. */
  function blocks(items) {
    const found = [];
    for (const kind of ["open", "closed"]) {
      const all = items.filter((item) => item.kind === "lane" && item.isOpen === (kind === "open"));
      for (let at = 0; at < all.length; at += BLOCK[kind]) {
        const block = all.slice(at, at + BLOCK[kind]);
        const rows = [...new Set(block.flatMap((item) => item.rows.map((row) => row.row)))];
        if (rows.length) found.push({ items: block, lanes: block.map((item) => item.lane.lane), rows });
      }
    }
    return found;
  }

  /** The item and its row at a height; undefined where there is none. */
  function at(items, y) {
    const item = items.find((one) => y >= one.y && y < one.y + one.height);
    const row = item?.rows?.find((one) => y >= one.y - 1 && y < one.y + one.height + 1);
    return { item, row, depth: row ? Math.min(row.depth - 1, Math.max(0, Math.floor((y - row.y) / row.line))) : 0 };
  }

  gapfinder.lanes = { layout, blocks, at, isGathered, SHORT, WORDS };
})();
