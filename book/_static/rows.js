// Tables of class attn-rows: sorted by their heads, filtered by columns that say so, searched and turned over where they
// are long. Without this they only scroll.
"use strict";
(() => {
  const number = text => /^[<>]? ?[−-]?[\d,]*\.?\d+$/.test(text) ? Number(text.replace("−", "-").replace(/[<>, ]/g, "")) : null;
  // numbers by size, texts by the alphabet, empty ones last whatever the direction
  function order(a, b, sign) {
    if (a === "" || b === "") return (a === "") - (b === "");
    const x = number(a), y = number(b);
    return sign * (x !== null && y !== null ? x - y : a.localeCompare(b, "en", { numeric: true }));
  }
  const keep = (texts, chosen, words = []) =>
    Object.entries(chosen).every(([column, text]) => !text || texts[column] === text) &&
    words.every(word => texts.some(text => text.toLowerCase().includes(word)));
  if (typeof module !== "undefined") { module.exports = { number, order, keep }; return; }

  const AT_ONCE = 50; // rows in sight; the others wait outside the page

  // A long table is text inside <noscript>: with this script its rows never become elements of the page all at once.
  function unpack(box) {
    const stored = box.querySelector("noscript");
    if (!stored) return { table: box, insert: () => {} };
    const table = new DOMParser().parseFromString(stored.textContent, "text/html").body.firstElementChild;
    return { table, insert: () => stored.replaceWith(table) };
  }

  function button(text, label, act) {
    const made = Object.assign(document.createElement("button"), { type: "button", textContent: text, onclick: act });
    if (label) made.setAttribute("aria-label", label);
    return made;
  }

  function enhance(box) {
    const { table, insert } = unpack(box);
    const body = table.querySelector("tbody"), heads = [...table.querySelectorAll("thead th")], chosen = {};
    const rows = [...body.rows].map(row => ({ row, texts: [...row.cells].map(cell => cell.textContent.trim()) }));
    const bar = document.createElement("div"), count = document.createElement("output");
    let first = 0, words = [];
    bar.className = "attn-filters"; count.setAttribute("aria-live", "polite");
    const back = button("‹", "previous rows", () => show(first - AT_ONCE));
    const on = button("›", "next rows", () => show(first + AT_ONCE));
    const show = start => {
      const kept = rows.filter(one => keep(one.texts, chosen, words)), inSight = kept.slice(start, start + AT_ONCE);
      const all = rows.length.toLocaleString("en");
      first = start;
      body.replaceChildren(...inSight.map(one => one.row));
      back.disabled = first === 0; on.disabled = first + AT_ONCE >= kept.length;
      count.textContent = kept.length > AT_ONCE
        ? `${first + 1}–${first + inSight.length} of ${kept.length.toLocaleString("en")} rows`
        : `${kept.length} of ${all} rows`;
      if (table !== box) table.scrollTop = 0;
    };
    heads.forEach((head, column) => {
      const sort = button(head.textContent, "", () => {
        const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        heads.forEach(other => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        rows.sort((a, b) => order(a.texts[column], b.texts[column], sign));
        show(0);
      });
      if (head.hasAttribute("data-filter")) {
        const label = document.createElement("label"), select = document.createElement("select");
        const names = [...new Set(rows.map(one => one.texts[column]))].filter(Boolean);
        select.append(new Option("all", ""), ...names.map(name => new Option(name, name)));
        select.onchange = () => { chosen[column] = select.value; show(0); };
        label.append(head.textContent + " ", select); bar.append(label);
      }
      if (head.textContent) head.replaceChildren(sort);
    });
    if (rows.length > AT_ONCE) {
      const label = document.createElement("label"), input = document.createElement("input");
      input.type = "search";
      input.oninput = () => { words = input.value.toLowerCase().split(/\s+/).filter(Boolean); show(0); };
      label.append("search ", input); bar.append(label);
    }
    bar.append(count);
    if (rows.length > AT_ONCE) bar.append(back, on);
    box.prepend(bar); show(0); insert();
  }

  // A box that scrolls can be reached and moved by keys.
  const reach = () => document.querySelectorAll(".bd-article :is(div, pre)").forEach(box => {
    const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (scrolls && /auto|scroll/.test(getComputedStyle(box).overflow)) box.tabIndex = 0;
  });

  function start() {
    document.querySelectorAll(".attn-rows").forEach(enhance);
    addEventListener("load", reach);
    addEventListener("resize", reach);
    document.addEventListener("toggle", reach, true); // a fold
  }
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", start) : start();
})();
