// Folded code: a button that opens all of a page's, and a box that keeps it open on every page, on this device.
// Without this the folds open one by one.
"use strict";
(() => {
  const KEY = "attn-code";
  const kept = () => { try { return localStorage.getItem(KEY) === "open"; } catch { return false; } };
  function keep(open) {
    try {
      if (open) localStorage.setItem(KEY, "open"); else localStorage.removeItem(KEY);
    } catch { /* storage is blocked: the box holds for this page */ }
  }

  function start() {
    const folds = [...document.querySelectorAll(".bd-article .cell > details.hide")];
    const place = document.querySelector(".bd-article .attn-kicker") || document.querySelector(".bd-article h1");
    if (!folds.length || !place) return;
    const bar = document.createElement("p"), button = document.createElement("button");
    const label = document.createElement("label"), box = document.createElement("input");
    bar.className = "attn-code"; button.type = "button"; box.type = "checkbox";
    label.append(box, " on every page");
    bar.append(button, label);
    const all = () => folds.every(fold => fold.open);
    const name = () => { button.textContent = all() ? "Hide code" : "Show code"; button.setAttribute("aria-pressed", all()); };
    const open = shown => { folds.forEach(fold => { fold.open = shown; }); name(); };
    button.onclick = () => open(!all());
    box.onchange = () => { keep(box.checked); open(box.checked); };
    folds.forEach(fold => fold.addEventListener("toggle", name));
    box.checked = kept();
    open(box.checked);
    place.after(bar);
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
})();
