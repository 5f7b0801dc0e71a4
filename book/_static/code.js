// Folded code: a button that opens all of a page's, and a box that keeps it open on every page, on this device.
// Without this the folds open one by one.
"use strict";
(() => {
  const KEY = "attn-code";
  const kept = () => { try { return localStorage.getItem(KEY); } catch { return ""; } };
  const keep = open => { try { localStorage.setItem(KEY, open ? "open" : ""); } catch { /* blocked: it holds for this page */ } };

  function start() {
    const folds = [...document.querySelectorAll(".bd-article .cell > details.hide")];
    const place = document.querySelector(".bd-article .attn-kicker") || document.querySelector(".bd-article h1");
    if (!folds.length || !place) return;
    place.insertAdjacentHTML("afterend", `<p class="attn-code"><button type="button"></button><label><input type="checkbox"> on every page</label></p>`);
    const [button, { firstChild: box }] = place.nextElementSibling.children;
    const all = () => folds.every(fold => fold.open);
    const name = () => { button.textContent = all() ? "Hide code" : "Show code"; button.ariaPressed = all(); };
    const open = shown => { folds.forEach(fold => { fold.open = shown; }); name(); };
    button.onclick = () => open(!all());
    box.onchange = () => { keep(box.checked); open(box.checked); };
    folds.forEach(fold => fold.addEventListener("toggle", name));
    box.checked = Boolean(kept());
    open(box.checked);
  }
  document.addEventListener("DOMContentLoaded", start);
})();
