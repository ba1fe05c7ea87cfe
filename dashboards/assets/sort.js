/* Sorts tables by a click on a heading: numbers by size whatever their unit, words by the alphabet; then as they came. */
"use strict";

(function () {
  const FACTORS = {
    ns: 1, µs: 1e3, ms: 1e6, s: 1e9,
    B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12,
    "B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12,
  };
  const NUMBER = /^([<>]?)([+-]?[0-9][0-9,]*(?:\.[0-9]+)?)\s*(\S*)/;
  const words = new Intl.Collator("en", { numeric: true });
  const ORDERS = ["descending", "ascending"];
  const chosen = new Map(); // by the table, [place of the column, order]

  /** Return the number that a cell begins with, in the smallest unit of its kind; null where it has none. */
  function numberOf(text) {
    const found = NUMBER.exec(text);
    if (!found) {
      return null;
    }
    const size = Number(found[2].replaceAll(",", "")) * (FACTORS[found[3]] || 1);
    return found[1] === "<" ? size / 2 : found[1] === ">" ? size * 1.0001 : size;
  }

  /** Compare two rows by a column; what has no number comes last, whichever the order. */
  function compare(one, other, { column, order, isNumber }) {
    const [left, right] = [one, other].map((row) => row.cells[column].textContent.trim());
    if (!isNumber) {
      return order * words.compare(left, right);
    }
    const [low, high] = [numberOf(left), numberOf(right)];
    if (low === null || high === null) {
      return (low === null) - (high === null);
    }
    return order * (low - high);
  }

  /** Return what a table is called, on this page: what the server sends anew is still the same table. */
  function nameOf(table) {
    return `${window.location.pathname} ${table.closest("[role=region]").getAttribute("aria-label")}`;
  }

  /** Put the rows of a table in the order that was chosen, and say so in its heading. */
  function sort(table) {
    const [column, order] = chosen.get(nameOf(table)) || [-1, ""];
    const rows = [...table.tBodies[0].rows];
    let wanted = [...rows].sort((one, other) => Number(one.dataset.place) - Number(other.dataset.place));
    for (const head of table.tHead.rows[0].cells) {
      if (head.cellIndex !== column) {
        head.removeAttribute("aria-sort");
      } else if (head.getAttribute("aria-sort") !== order) {
        head.setAttribute("aria-sort", order);
      }
    }
    if (order) {
      const isNumber = table.tHead.rows[0].cells[column].classList.contains("number");
      const by = { column, order: order === "ascending" ? 1 : -1, isNumber };
      wanted = wanted.sort((one, other) => compare(one, other, by));
    }
    if (wanted.some((row, index) => row !== rows[index])) {
      table.tBodies[0].append(...wanted);
    }
  }

  /** Go on to the next order of a column: numbers begin with the largest, words with the first; the third is as it came. */
  function turn(head) {
    const table = head.closest("table");
    const orders = head.classList.contains("number") ? ORDERS : [...ORDERS].reverse();
    const next = orders[orders.indexOf(head.getAttribute("aria-sort")) + 1];
    if (next) {
      chosen.set(nameOf(table), [head.cellIndex, next]);
    } else {
      chosen.delete(nameOf(table));
    }
    sort(table);
  }

  document.addEventListener("click", (event) => {
    const head = event.target.closest("thead th:has(> button.sort)");
    if (head && event.target.closest("button")) {
      turn(head);
    }
  });

  // what the server sends anew, such as the list of profiles, comes in its own order
  let isAsked = false;
  new MutationObserver(() => {
    if (chosen.size && !isAsked) {
      isAsked = true;
      window.requestAnimationFrame(() => {
        isAsked = false;
        const tables = [...document.querySelectorAll("[role=region] > table:has(button.sort)")];
        tables.filter((table) => chosen.has(nameOf(table))).forEach(sort);
      });
    }
  }).observe(document, { childList: true, characterData: true, subtree: true });
})();
