/* Move the attention: the book's arithmetic in the page, without a framework and without a network.
   A sentence is {w: words, a: the model's weights, c: contributions, b: bias}; p = sigmoid(b + sum a_t c_t).
   The functions of `attn` are tested in node against the Python package; the rest draws every .attn-play of a page. */
const attn = (() => {
  const sigmoid = z => 1 / (1 + Math.exp(-z));
  const logit = p => (p <= 0 ? -Infinity : p >= 1 ? Infinity : Math.log(p / (1 - p)));
  const entropy = (x, m) => (x > 0 ? x * Math.log(x / m) : 0);
  const output = (d, a) => sigmoid(a.reduce((sum, x, t) => sum + x * d.c[t], d.b));
  const jsd = (a, b) => a.reduce((sum, x, t) => {
    const m = (x + b[t]) / 2;
    return sum + (entropy(x, m) + entropy(b[t], m)) / 2;
  }, 0);
  const corner = (n, i, w = 1, j = -1) => Array.from({ length: n }, (_, t) => (t === i ? w : t === j ? 1 - w : 0));
  const flat = d => d.a.map(() => 1 / d.a.length);
  const alone = d => d.c.map(c => sigmoid(d.b + c)); // each word with all the attention
  const locked = d => alone(d).every(p => p > 0.5 === output(d, d.a) > 0.5); // no attention can change the decision

  /* The attention farthest from the model's whose output differs by at most epsilon. JSD is convex, so its largest
     value over simplex and band lies at a corner: one word within the band, or two on an edge of it. */
  function farthest(d, epsilon) {
    const p = output(d, d.a), n = d.c.length;
    const edges = [p - epsilon, p + epsilon].map(q => logit(q) - d.b);
    let best = d.a, far = 0;
    const consider = a => {
      const distance = jsd(d.a, a);
      if (distance > far) [far, best] = [distance, a];
    };
    for (let i = 0; i < n; i++) {
      if (d.c[i] >= edges[0] && d.c[i] <= edges[1]) consider(corner(n, i));
      for (let j = 0; j < n; j++)
        for (const edge of edges)
          if (isFinite(edge) && d.c[i] < edge && d.c[j] > edge)
            consider(corner(n, i, (d.c[j] - edge) / (d.c[j] - d.c[i]), j));
    }
    return best;
  }

  /* Word t gets weight v; the others keep their proportions. */
  function moved(a, t, v) {
    v = Math.min(1, Math.max(0, v));
    const rest = 1 - a[t];
    return a.map((x, i) => (i === t ? v : rest > 1e-9 ? (x * (1 - v)) / rest : (1 - v) / (a.length - 1)));
  }

  function shuffled(a, random = Math.random) {
    const b = [...a];
    for (let i = b.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [b[i], b[j]] = [b[j], b[i]];
    }
    return b;
  }
  return { sigmoid, logit, output, jsd, corner, flat, alone, locked, farthest, moved, shuffled };
})();

if (typeof module !== "undefined") module.exports = attn;

if (typeof document !== "undefined") {
  const element = (tag, kind, text) => {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    if (text !== undefined) made.textContent = text; // never as HTML: words are data
    return made;
  };
  const side = p => (p > 0.5 ? "positive" : "negative");
  const KEYS = { own: "the model's", flat: "equal", deal: "shuffled", far: "farthest, same answer" };

  function play(root) {
    const sentences = JSON.parse(root.dataset.sentences), epsilon = Number(root.dataset.epsilon || 0.05);
    let d, now, kind, sliders;
    root.replaceChildren();
    const pick = element("div", "attn-pick"), words = element("div", "attn-words"), verdict = element("div", "attn-verdict");
    const answer = element("output"), was = element("span", "attn-was"), axis = element("div", "attn-axis");
    const marks = ["reach", "half", "own", "now"].map(name => element("span", name));
    const ends = element("div", "attn-ends"), why = element("p", "attn-why"), keys = element("div", "attn-keys");
    for (const [group, name] of [[pick, "Sentence"], [words, "Weights"], [keys, "Attention"]]) {
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", name);
    }
    answer.setAttribute("aria-live", "polite");
    for (const hidden of [axis, ends]) hidden.setAttribute("aria-hidden", "true");
    axis.append(...marks);
    ends.append(element("span", "", "negative"), element("span", "", "positive"));
    verdict.append(answer, was);
    root.append(pick, words, verdict, axis, ends, why, keys);
    for (const [name, text] of Object.entries(KEYS)) {
      const key = element("button", "", text);
      key.dataset.key = name;
      key.onclick = () => choose(name);
      keys.append(key);
    }
    sentences.forEach((sentence, i) => {
      const key = element("button", "", sentence.w.join(" "));
      key.onclick = () => open(i);
      pick.append(key);
    });

    function draw() {
      const own = attn.output(d, d.a), p = attn.output(d, now), each = attn.alone(d), same = side(p) === side(own);
      sliders.forEach(({ slot, share }, t) => {
        slot.style.setProperty("--w", now[t]);
        slot.style.setProperty("--own", d.a[t]);
        slot.setAttribute("aria-valuenow", Math.round(100 * now[t]));
        share.textContent = `${Math.round(100 * now[t])}%`;
      });
      answer.replaceChildren(element("b", "", side(p)), ` ${p.toFixed(2)}`);
      root.classList.toggle("flipped", !same);
      was.textContent = !same ? `flipped from ${own.toFixed(2)}` : kind === "own" ? "the model's own answer" : `the model says ${own.toFixed(2)}`;
      was.textContent += kind === "own" ? "" : `, JSD ${attn.jsd(d.a, now).toFixed(2)}`;
      const low = Math.min(...each), high = Math.max(...each), count = each.filter(q => side(q) === side(own)).length;
      marks[0].style.cssText = `left:${100 * low}%;width:${100 * (high - low)}%`;
      marks[2].style.left = `${100 * own}%`;
      marks[3].style.left = `${100 * p}%`;
      const head = attn.locked(d) ? "No attention can flip this." : `${count} of ${each.length} words,`;
      const tail = attn.locked(d) ? ` Each of the ${each.length} words, alone, already says ${side(own)}.`
        : ` alone, say ${side(own)}. Grey: every answer that some attention can give.`;
      why.replaceChildren(element("b", "", head), tail);
      for (const key of keys.children) key.setAttribute("aria-pressed", key.dataset.key === kind);
      Object.assign(root.dataset, { p: p.toFixed(6), jsd: attn.jsd(d.a, now).toFixed(6) });
    }

    function choose(name) {
      kind = name;
      now = name === "own" ? d.a : name === "flat" ? attn.flat(d) : name === "far" ? attn.farthest(d, epsilon) : attn.shuffled(d.a);
      draw();
    }

    function open(i) {
      d = sentences[i];
      [...pick.children].forEach((key, j) => key.setAttribute("aria-pressed", i === j));
      sliders = d.w.map((word, t) => {
        const box = element("div", "attn-word"), slot = element("div", "slot"), all = element("button", "", word), share = element("small");
        const attributes = { role: "slider", tabindex: 0, "aria-label": `weight of ${word}`, "aria-valuemin": 0, "aria-valuemax": 100 };
        for (const [name, value] of Object.entries(attributes)) slot.setAttribute(name, value);
        all.title = "all weight on this word";
        slot.append(element("i"), element("u"));
        box.append(slot, all, share);
        const set = a => { kind = ""; now = a; draw(); };
        const follow = event => {
          const place = slot.getBoundingClientRect();
          set(attn.moved(now, t, 1 - (event.clientY - place.top) / place.height));
        };
        slot.onpointerdown = event => { slot.setPointerCapture(event.pointerId); follow(event); };
        slot.onpointermove = event => { if (slot.hasPointerCapture(event.pointerId)) follow(event); };
        slot.onkeydown = event => {
          const step = { ArrowUp: 0.05, ArrowRight: 0.05, ArrowDown: -0.05, ArrowLeft: -0.05 }[event.key];
          if (!step) return;
          event.preventDefault();
          set(attn.moved(now, t, now[t] + step));
        };
        all.onclick = () => set(attn.corner(d.w.length, t));
        return { box, slot, share };
      });
      words.replaceChildren(...sliders.map(({ box }) => box));
      choose("own");
    }
    open(0);
  }
  const start = () => document.querySelectorAll(".attn-play[data-sentences]").forEach(play);
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", start) : start();
}
