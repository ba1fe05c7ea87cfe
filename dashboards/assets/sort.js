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

  /** Put the rows of a table in the order that its heading says. */
  function sort(table) {
    const head = table.tHead.querySelector("th[aria-sort]");
    const rows = [...table.tBodies[0].rows];
    const place = (row) => Number(row.dataset.place);
    let wanted = [...rows].sort((one, other) => place(one) - place(other));
    if (head) {
      const by = {
        column: head.cellIndex,
        order: head.getAttribute("aria-sort") === "ascending" ? 1 : -1,
        isNumber: head.classList.contains("number"),
      };
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
    for (const other of table.tHead.querySelectorAll("th[aria-sort]")) {
      other.removeAttribute("aria-sort");
    }
    if (next) {
      head.setAttribute("aria-sort", next);
    }
    sort(table);
  }

  document.addEventListener("click", (event) => {
    const head = event.target.closest("thead th:has(> button.sort)");
    if (head && event.target.closest("button")) {
      turn(head);
    }
  });

  // what the server sends anew, such as another lane's steps, comes in the order that was chosen
  let isAsked = false;
  new MutationObserver((changes) => {
    const isOurs = changes.some((change) => (change.target.parentElement || change.target).closest("table"));
    if (isOurs && !isAsked) {
      isAsked = true;
      window.requestAnimationFrame(() => {
        isAsked = false;
        document.querySelectorAll("table:has(th[aria-sort])").forEach(sort);
      });
    }
  }).observe(document, { childList: true, characterData: true, subtree: true });
})();
