// Tables of class attn-rows: sorted by their heads, filtered by columns that say so. Without this they only scroll.
"use strict";
(() => {
  const number = text => /^[<>]? ?[−-]?[\d,]*\.?\d+$/.test(text) ? Number(text.replace("−", "-").replace(/[<>, ]/g, "")) : null;
  // numbers by size, texts by the alphabet, empty ones last whatever the direction
  function order(a, b, sign) {
    if (a === "" || b === "") return (a === "") - (b === "");
    const x = number(a), y = number(b);
    return sign * (x !== null && y !== null ? x - y : a.localeCompare(b, "en", { numeric: true }));
  }
  const keep = (texts, chosen) => Object.entries(chosen).every(([column, text]) => !text || texts[column] === text);
  if (typeof module !== "undefined") { module.exports = { number, order, keep }; return; }

  function enhance(box) {
    const body = box.querySelector("tbody"), heads = [...box.querySelectorAll("thead th")], chosen = {};
    const rows = [...body.rows].map(row => ({ row, texts: [...row.cells].map(cell => cell.textContent.trim()) }));
    const bar = document.createElement("div"), count = document.createElement("output");
    bar.className = "attn-filters"; count.setAttribute("aria-live", "polite");
    const apply = () => {
      let shown = 0;
      for (const one of rows) { one.row.hidden = !keep(one.texts, chosen); shown += !one.row.hidden; }
      count.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
    };
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button"; button.textContent = head.textContent;
      button.onclick = () => {
        const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        heads.forEach(other => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        rows.sort((a, b) => order(a.texts[column], b.texts[column], sign));
        body.append(...rows.map(one => one.row));
      };
      if (head.hasAttribute("data-filter")) {
        const label = document.createElement("label"), select = document.createElement("select");
        const names = [...new Set(rows.map(one => one.texts[column]))].filter(Boolean);
        select.append(new Option("all", ""), ...names.map(name => new Option(name, name)));
        select.onchange = () => { chosen[column] = select.value; apply(); };
        label.append(head.textContent + " ", select); bar.append(label);
      }
      head.replaceChildren(button);
    });
    bar.append(count); box.prepend(bar); apply();
  }

  // Class attn-grid: a cell's text under the table on hover, focus and tap; arrow keys move; a click, or a second tap,
  // follows the cell's link. Without this the text is the cell's title.
  const grid = box => {
    const detail = box.querySelector(".attn-detail"), cells = [...box.querySelectorAll("td a")], lines = new Map();
    let chosen = null, again = true;
    const show = cell => {
      chosen?.classList.remove("chosen"); cells.forEach(one => { one.tabIndex = one === cell ? 0 : -1; });
      chosen = cell; cell.classList.add("chosen");
      const link = Object.assign(document.createElement("a"), { href: cell.href, textContent: "its page" });
      detail.replaceChildren(cell.dataset.told + ". ", link);
    };
    for (const cell of cells) {
      const row = cell.closest("tr");
      lines.set(row, [...(lines.get(row) ?? []), cell]);
      cell.dataset.told = cell.title; cell.removeAttribute("title"); cell.tabIndex = cell === cells[0] ? 0 : -1;
      cell.onpointerenter = event => { if (event.pointerType === "mouse") show(cell); };
      cell.onpointerdown = event => { again = event.pointerType === "mouse" || chosen === cell; };
      cell.onfocus = () => show(cell);
      cell.onclick = event => { if (!again) event.preventDefault(); again = true; show(cell); };
    }
    box.onkeydown = event => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!step || !cells.includes(event.target)) return;
      event.preventDefault();
      const rows = [...lines.values()], y = rows.findIndex(row => row.includes(event.target));
      const x = cell => cell.closest("td").cellIndex, row = rows[y + step[0]] ?? rows[y];
      const next = step[1] ? row[row.indexOf(event.target) + step[1]]
        : row.reduce((a, b) => Math.abs(x(a) - x(event.target)) <= Math.abs(x(b) - x(event.target)) ? a : b);
      next?.focus();
    };
  };

  const start = () => {
    document.querySelectorAll(".attn-rows").forEach(enhance);
    document.querySelectorAll(".attn-grid").forEach(grid);
  };
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", start) : start();
})();
