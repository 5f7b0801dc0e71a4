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

  const start = () => document.querySelectorAll(".attn-rows").forEach(enhance);
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", start) : start();
})();
