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
  const BAR = `<div class="attn-filters"><label>search <input type="search"></label><output aria-live="polite"></output>
    <button type="button" aria-label="previous rows">‹</button><button type="button" aria-label="next rows">›</button></div>`;

  function enhance(box) {
    // A long table is text inside <noscript>: with this script its rows never become elements of the page all at once.
    const stored = box.querySelector("noscript");
    const table = stored ? new DOMParser().parseFromString(stored.textContent, "text/html").body.firstElementChild : box;
    const body = table.querySelector("tbody"), heads = [...table.querySelectorAll("thead th")], chosen = {};
    const rows = [...body.rows].map(row => ({ row, texts: [...row.cells].map(cell => cell.textContent.trim()) }));
    box.insertAdjacentHTML("afterbegin", BAR);
    const bar = box.firstElementChild, [search, count, back, on] = bar.children, input = search.lastChild;
    let first = 0, words = [];
    const show = start => {
      const kept = rows.filter(one => keep(one.texts, chosen, words)), inSight = kept.slice(start, start + AT_ONCE);
      first = start;
      body.replaceChildren(...inSight.map(one => one.row));
      back.disabled = first === 0;
      on.disabled = first + AT_ONCE >= kept.length;
      const [seen, all] = [kept.length, rows.length].map(length => length.toLocaleString("en"));
      count.textContent = kept.length > AT_ONCE ? `${first + 1}–${first + inSight.length} of ${seen} rows` : `${seen} of ${all} rows`;
      if (stored) table.scrollTop = 0;
    };
    heads.forEach((head, column) => {
      if (head.hasAttribute("data-filter")) {
        const label = document.createElement("label"), select = document.createElement("select");
        const names = [...new Set(rows.map(one => one.texts[column]))].filter(Boolean);
        select.append(new Option("all", ""), ...names.map(name => new Option(name)));
        select.onchange = () => { chosen[column] = select.value; show(0); };
        label.append(head.textContent + " ", select);
        search.before(label);
      }
      if (!head.textContent) return;
      const sort = Object.assign(document.createElement("button"), { type: "button", textContent: head.textContent });
      sort.onclick = () => {
        const sign = head.ariaSort === "ascending" ? -1 : 1;
        heads.forEach(other => (other.ariaSort = null));
        head.ariaSort = sign > 0 ? "ascending" : "descending";
        rows.sort((a, b) => order(a.texts[column], b.texts[column], sign));
        show(0);
      };
      head.replaceChildren(sort);
    });
    input.oninput = () => { words = input.value.toLowerCase().split(/\s+/).filter(Boolean); show(0); };
    back.onclick = () => show(first - AT_ONCE);
    on.onclick = () => show(first + AT_ONCE);
    if (rows.length <= AT_ONCE) [search, back, on].forEach(part => part.remove());
    show(0);
    stored?.replaceWith(table);
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
  document.addEventListener("DOMContentLoaded", start);
})();
