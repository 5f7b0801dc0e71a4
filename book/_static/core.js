/* The book's arithmetic in the page, without a framework and without a network.
   A sentence is {w: words, a: the model's weights, c: contributions, b: bias}; p = sigmoid(b + sum a_t c_t).
   The functions of `attn` are tested in node against the Python package; the rest brings every .attn-play of a page to
   life: data-play names which of move, triangle, erase, strips, tiles and dial; what stands in it before is its picture on paper. */
"use strict"; // else the functions of the block below would be names of the whole page
const attn = (() => {
  const sigmoid = z => 1 / (1 + Math.exp(-z));
  const logit = p => (p <= 0 ? -Infinity : p >= 1 ? Infinity : Math.log(p / (1 - p)));
  const entropy = (x, m) => (x > 0 ? x * Math.log(x / m) : 0);
  const sum = values => values.reduce((total, x) => total + x, 0);
  const output = (d, a) => sigmoid(a.reduce((total, x, t) => total + x * d.c[t], d.b));
  const jsd = (a, b) => Math.max(0, sum(a.map((x, t) => {
    const m = (x + b[t]) / 2;
    return (entropy(x, m) + entropy(b[t], m)) / 2;
  })));
  const corner = (n, i, w = 1, j = -1) => Array.from({ length: n }, (_, t) => (t === i ? w : t === j ? 1 - w : 0));
  const flat = d => d.a.map(() => 1 / d.a.length);
  const ceiling = a => jsd(a, corner(a.length, a.indexOf(Math.min(...a)))); // all weight on the least attended word
  const alone = d => d.c.map(c => sigmoid(d.b + c)); // each word with all the attention
  const locked = d => alone(d).every(p => p > 0.5 === output(d, d.a) > 0.5); // no attention can change the decision

  /* The attention farthest from the model's whose output differs by at most epsilon. JSD is convex, so its largest
     value over simplex and band lies at a corner: one word within the band, or two on an edge of it. */
  function farthest(d, epsilon) {
    const n = d.c.length, edges = band(d, epsilon);
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

  /* Lowest and highest sum a_t c_t whose output differs by at most epsilon. */
  function band(d, epsilon) {
    const p = output(d, d.a);
    return [logit(p - epsilon) - d.b, logit(p + epsilon) - d.b];
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

  /* ---- erasing words: weights of the others are scaled to sum to one; of none only the bias is left ---- */
  const kept = (d, gone) => {
    const rest = sum(d.a.filter((_, t) => !gone.includes(t)));
    return d.a.map((x, t) => (rest > 0 && !gone.includes(t) ? x / rest : 0));
  };
  /* Words in the order in which a ranking erases them. The decision is the sign of sum a_t (b + c_t) over the kept, so
     the fewest words that flip it are the first of those whose a_t (b + c_t) speaks most for it. */
  function order(d, name) {
    const way = output(d, d.a) > 0.5 ? 1 : -1;
    const score = { attention: t => d.a[t], gradient: t => way * d.c[t], product: t => way * d.a[t] * d.c[t],
      optimum: t => way * d.a[t] * (d.b + d.c[t]) }[name];
    return d.a.map((_, t) => t).sort((s, t) => score(t) - score(s) || s - t);
  }
  /* How many words of an order are erased when the decision first changes; -1: never. */
  function flips(d, sequence) {
    const own = output(d, d.a) > 0.5;
    return d.a.findIndex((_, k) => output(d, kept(d, sequence.slice(0, k + 1))) > 0.5 !== own) + 1 || -1;
  }

  /* ---- one word taken out: its weight erased, the states as they are; or the word deleted and the sentence read again ---- */
  const erased = (d, t) => ({ ...d, a: kept(d, [t]), gone: t });
  /* Without context nothing else changes when a word goes (no `without`): to delete it is to erase its weight. */
  function deleted(d, t) {
    const again = typeof d.without === "function" ? d.without(t) : d.without?.[t];
    if (!again) return erased(d, t);
    const spread = (values, own) => d.w.map((_, i) => (i === t ? own : values[i < t ? i : i - 1]));
    return { ...d, a: spread(again.a, 0), c: spread(again.c, d.c[t]), gone: t };
  }
  const left = d => d.w.map((_, t) => t).filter(t => t !== d.gone); // the places of the words that are still there
  function present(d) { // the reading of these words alone
    const pick = values => left(d).map(t => values[t]);
    return { w: pick(d.w), a: pick(d.a), c: pick(d.c), b: d.b };
  }
  function placed(d, values) { // weights of these words, in the places of all
    const a = d.a.map(() => 0);
    left(d).forEach((t, k) => (a[t] = values[k]));
    return a;
  }

  /* ---- shuffling, again and again ---- */
  function median(values) {
    const sorted = [...values].sort((x, y) => x - y), half = Math.floor(sorted.length / 2);
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
  /* Numbers in [0, 1), the same for the same start (mulberry32): what a page shows can be shown again. */
  function stream(start) {
    return () => {
      start = (start + 0x6d2b79f5) | 0;
      let z = Math.imul(start ^ (start >>> 15), 1 | start);
      z = (z + Math.imul(z ^ (z >>> 7), 61 | z)) ^ z;
      return ((z ^ (z >>> 14)) >>> 0) / 4294967296;
    };
  }
  /* The weights dealt anew among the words that are there. */
  const dealt = (d, random) => placed(d, shuffled(present(d).a, random));
  /* What deals of the weights do to the output: half of them move it by at most `typical`, `flips` change the decision. */
  function effect(d, outputs) {
    const own = output(d, d.a);
    return { count: outputs.length, typical: median(outputs.map(p => Math.abs(p - own))),
      flips: outputs.filter(p => p > 0.5 !== own > 0.5).length };
  }
  /* How many outputs fall into each of `count` equal parts of [0, 1]. */
  function bins(outputs, count = 40) {
    const heights = Array(count).fill(0);
    for (const p of outputs) heights[Math.min(count - 1, Math.floor(p * count))]++;
    return heights;
  }

  /* ---- three words: attentions as points (x, y) of a triangle of side 1, its first word left, its second on top ---- */
  const HIGH = Math.sqrt(3) / 2;
  const place = a => [a[1] / 2 + a[2], a[1] * HIGH];
  function weights(x, y) {
    const b = y / HIGH, c = x - b / 2, inside = [1 - b - c, b, c].map(v => Math.max(0, v));
    return inside.map(v => v / sum(inside));
  }
  /* Attentions at JSD `level` from `a`, as lines of points: along any ray from `a` JSD grows. */
  function contour(a, level, rays = 240) {
    const lines = [[]];
    for (let k = 0; k <= rays; k++) {
      const turn = (2 * Math.PI * k) / rays, b = Math.sin(turn) / HIGH, c = Math.cos(turn) - b / 2, way = [-b - c, b, c];
      let low = 0, high = Math.min(...way.map((v, t) => (v < -1e-12 ? -a[t] / v : Infinity)));
      const at = r => a.map((x, t) => Math.max(0, x + r * way[t]));
      if (jsd(a, at(high)) < level) {
        if (lines.at(-1).length) lines.push([]);
        continue;
      }
      for (let i = 0; i < 30; i++) {
        const middle = (low + high) / 2;
        jsd(a, at(middle)) < level ? (low = middle) : (high = middle);
      }
      lines.at(-1).push(at(high));
    }
    return lines.filter(line => line.length > 1);
  }
  /* The corners of what of the triangle lies within a band of sum a_t c_t. */
  function strip(d, [low, high]) {
    const z = a => sum(a.map((x, t) => x * d.c[t]));
    const cut = (shape, inside, edge) => shape.flatMap((a, i) => {
      const b = shape[(i + 1) % shape.length], w = (edge - z(a)) / (z(b) - z(a));
      const crossing = inside(z(a)) !== inside(z(b)) ? [a.map((x, t) => x + w * (b[t] - x))] : [];
      return inside(z(a)) ? [a, ...crossing] : crossing;
    });
    return cut(cut([0, 1, 2].map(t => corner(3, t)), v => v >= low, low), v => v <= high, high);
  }

  /* ---- the archived SST reader: BiLSTM with additive attention; arrays are int8 rows, each with one scale ---- */
  function prepare(model) {
    const bytes = text => Uint8Array.from(atob(text), sign => sign.charCodeAt(0));
    const array = ([rows, values, scales]) => {
      const q = new Int8Array(bytes(values).buffer), s = new Float32Array(bytes(scales).buffer), width = q.length / rows;
      return { width, row: r => Float64Array.from(q.subarray(r * width, (r + 1) * width), v => Math.fround(v * s[r])) };
    };
    const embedding = array(model.arrays["encoder.embedding.weight"]), matrix = {};
    for (const [name, packed] of Object.entries(model.arrays))
      if (name !== "encoder.embedding.weight") matrix[name] = Array.from({ length: packed[0] }, (_, r) => r).map(array(packed).row);
    return { embedding, matrix, index: new Map(model.words.map((word, i) => [word, i])), split: model.split, average: model.average };
  }

  /* The package's rule for SST: bracket marks away, whatever is no letter, digit or underscore to blanks, contractions
     split by spaCy's own table (handed over with the model), lower case. Not taken over: units behind digits (5km). */
  function tokens(text, split = {}) {
    text = text.normalize("NFC").replaceAll("-LRB-", "").replaceAll("-RRB-", " ").replace(/[^\p{L}\p{N}_\u0300-\u036f]+/gu, " ").trim();
    return text.split(" ").filter(Boolean).flatMap(word => (Object.hasOwn(split, word) ? split[word] : [word])).map(word => word.toLowerCase());
  }

  const times = (rows, x, start) => rows.map((row, r) => {
    let total = start ? start[r] : 0;
    for (let i = 0; i < x.length; i++) total += row[i] * x[i];
    return total;
  });
  function states(inputs, matrix, way) { // gates in torch's order: input, forget, cell, output
    const [W, U, [b], [d]] = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"].map(name => matrix[`encoder.${way}_lstm.${name}_l0`]);
    const size = U.length / 4, bias = b.map((x, k) => x + d[k]);
    let h = new Float64Array(size), c = new Float64Array(size);
    return inputs.map(x => {
      const g = times(U, h, times(W, x, bias));
      c = c.map((v, k) => sigmoid(g[size + k]) * v + sigmoid(g[k]) * Math.tanh(g[2 * size + k]));
      return (h = c.map((v, k) => sigmoid(g[3 * size + k]) * Math.tanh(v)));
    });
  }
  /* The same without context: of every word a score and a contribution, in thousandths. */
  function look(model, words) {
    const { score, c, b } = model.average, rows = words.map(word => model.index.get(word) ?? 1);
    const e = rows.map(row => Math.exp((score[row] - Math.max(...rows.map(other => score[other]))) / 1000));
    return { w: words, a: e.map(x => x / sum(e)), c: rows.map(row => c[row] / 1000), b };
  }
  function read(model, words) {
    const { embedding, matrix, index } = model, ids = [2, ...words.map(word => index.get(word) ?? 1), 3];
    const inputs = ids.map(embedding.row), backward = states([...inputs].reverse(), matrix, "backward").reverse();
    const h = states(inputs, matrix, "forward").map((state, t) => [...state, ...backward[t]]).slice(1, -1);
    const [wish] = matrix["attention.v.weight"], [bias] = matrix["attention.project.bias"];
    const score = h.map(state => sum(times(matrix["attention.project.weight"], state, bias).map((z, r) => wish[r] * Math.tanh(z))));
    const e = score.map(s => Math.exp(s - Math.max(...score)));
    return { w: words, a: e.map(x => x / sum(e)), c: h.map(state => times(matrix["decoder.weight"], state)[0]),
      b: matrix["decoder.bias"][0][0], unknown: words.filter(word => !index.has(word)) };
  }
  return { sigmoid, logit, output, jsd, corner, flat, ceiling, alone, locked, farthest, band, moved, shuffled, kept, order,
    flips, erased, deleted, left, present, placed, median, stream, dealt, effect, bins, place, weights, contour, strip, prepare, tokens, read, look };
})();

if (typeof module !== "undefined") module.exports = attn;

if (typeof document !== "undefined") {
  const here = document.currentScript?.src;
  const element = (tag, kind, text, attributes = {}) => {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    if (text !== undefined) made.textContent = text; // never as HTML: words are data
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const drawn = (tag, attributes, parent) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    parent?.append(made);
    return made;
  };
  const side = p => (p > 0.5 ? "positive" : "negative");
  const percent = x => `${Math.round(100 * x)}%`;
  const group = (kind, name) => element("div", kind, undefined, { role: "group", "aria-label": name });
  const press = (keys, is) => keys.querySelectorAll("button").forEach((key, i) => key.setAttribute("aria-pressed", is(key.dataset.key, i)));

  /* Puts parts into an element; what stood in it is kept for paper. */
  function fill(root, ...parts) {
    const still = element("div", "attn-still");
    still.append(...root.childNodes);
    root.replaceChildren(still, ...parts);
  }

  /* A row of buttons, name -> what it says. */
  function buttons(kind, name, texts, pressed) {
    const row = group(kind, name);
    for (const [key, text] of Object.entries(texts)) {
      const button = element("button", "", text, { type: "button", "data-key": key });
      button.onclick = () => pressed(key);
      row.append(button);
    }
    return row;
  }

  /* The answer in words, and an axis from negative to positive: grey, all answers that any attention can give; a tick
     for each word, the answer if it had all the weight. */
  function meter(root) {
    const verdict = element("div", "attn-verdict"), answer = element("output", "", "", { "aria-live": "polite" });
    const was = element("span", "attn-was"), axis = element("div", "attn-axis", undefined, { "aria-hidden": true });
    const ticks = element("span", "ticks"), marks = ["reach", "half", "own", "now"].map(name => element("span", name)), ends = element("div", "attn-ends", undefined, { "aria-hidden": true });
    axis.append(marks[0], ticks, ...marks.slice(1));
    ends.append(element("span", "", "negative"), element("span", "", "positive"));
    verdict.append(answer, was);
    const show = (d, now, note) => {
      const own = attn.output(d, d.a), p = attn.output(d, now), places = attn.left(d), alone = attn.alone(d), each = places.map(t => alone[t]);
      const low = Math.min(...each), high = Math.max(...each);
      ticks.replaceChildren(...places.map((t, k) => element("i", side(each[k]), undefined, { "data-t": t, style: `left:${(100 * each[k]).toFixed(3)}%` })));
      answer.replaceChildren(element("b", "", side(p)), ` ${p.toFixed(2)}`);
      root.classList.toggle("flipped", side(p) !== side(own));
      was.textContent = note;
      marks[0].style.cssText = `left:${100 * low}%;width:${100 * (high - low)}%`;
      marks[2].style.left = `${100 * own}%`;
      marks[3].style.left = `${100 * p}%`;
      Object.assign(root.dataset, { p: p.toFixed(6), jsd: attn.jsd(d.a, now).toFixed(6) });
    };
    return { parts: [verdict, axis, ends], show, ticks };
  }

  /* ---- one sentence, three encoders: move its weights, take a word out, shuffle ---- */
  const KEYS = { own: "the model's", flat: "equal", deal: "shuffle", far: "farthest, same answer" };
  const TAPS = { all: "give it all the weight", erase: "erase its weight", delete: "delete the word" };
  const READERS = { lstm: "BiLSTM", average: "no context", minilm: "transformer" };
  const HUES = { lstm: "lstm", average: "average", minilm: "transformer" };
  const SHUFFLES = 300;
  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  function move(root) {
    const sentences = JSON.parse(root.dataset.sentences), epsilon = Number(root.dataset.epsilon || 0.05);
    const stored = sentences.length;
    let at, encoder = "lstm", tap = "all", out = -1; // the sentence, who reads it, what a tap does, the word that is out
    let d, now, kind, sliders, running, tally; // its reading, the weights shown and their name, bars, the animation, what shuffles did

    const readers = buttons("attn-keys", "Encoder", READERS, name => read(name));
    readers.prepend(element("small", "", "read by"));
    const pick = group("attn-pick", "Sentence"), words = group("attn-words", "Weights"), note = element("p", "attn-note");
    const taps = buttons("attn-keys", "A tap on a word", TAPS, taps_do);
    taps.prepend(element("small", "", "tap a word to"));
    const histogram = element("div", "attn-histogram", undefined, { "aria-hidden": true }), columns = Array.from({ length: 40 }, () => element("i"));
    histogram.append(...columns);
    const { parts: [verdict, axis, ends], show, ticks } = meter(root), why = element("p", "attn-why");
    const results = element("ul", "attn-tally", undefined, { "aria-live": "polite", "aria-label": "What shuffling does" });
    const keys = buttons("attn-keys", "Attention", { ...KEYS, far: `${KEYS.far} ± ${epsilon}` }, choose);
    const path = root.dataset.path ? guide() : undefined;
    fill(root, ...(path ? [path.panel] : []), readers, pick, note, words, taps, verdict, histogram, axis, ends, why, keys, results);
    if (root.dataset.own) root.append(own(sentence => {
      sentences.splice(stored, 1, sentence); // one typed sentence at a time
      open(stored);
    }));

    /* A reading with the word that is out taken out, its weight or itself. */
    function taken(whole) {
      if (out < 0) return whole;
      return tap === "delete" ? attn.deleted(whole, out) : attn.erased(whole, out);
    }
    const whole = () => sentences[at].by[encoder];
    const none = () => whole().unknown?.length === whole().w.length; // not one word is known

    function read(name) {
      stop();
      const places = sentences[at].by[encoder].w.join(" ");
      encoder = name;
      if (whole().w.join(" ") !== places) out = -1; // word pieces may be others than the words
      build();
      path?.reader(name);
    }
    function taps_do(name) {
      tap = name;
      take(tap === "all" ? -1 : out);
    }
    function touch(t) {
      if (tap === "all") set(attn.corner(d.w.length, t));
      else take(out === t ? -1 : t);
    }
    function take(t) {
      out = t;
      heights(shown());
      choose("own");
    }
    /* What the histogram holds: the last shuffles of this reading, if they were of these words. */
    function shown() {
      const last = tally[encoder];
      return last && last.out === out && (out < 0 || last.tap === tap) ? last.outputs : [];
    }
    const set = a => { stop(); kind = ""; now = a; draw(); };

    function choose(name) {
      stop();
      d = taken(whole());
      if (name === "deal") return shuffle();
      kind = name;
      const there = attn.present(d);
      now = name === "own" ? d.a : attn.placed(d, name === "flat" ? attn.flat(there) : attn.farthest(there, epsilon));
      draw();
    }

    /* Deals one after the other; the histogram fills, the last deal stays. */
    function shuffle() {
      const random = attn.stream(1), outputs = [], began = performance.now(), last = still() ? 0 : 1500;
      kind = "deal";
      results.setAttribute("aria-busy", true);
      const step = time => {
        const wanted = last ? Math.min(SHUFFLES, Math.ceil((SHUFFLES * Math.max(1, time - began)) / last)) : SHUFFLES;
        while (outputs.length < wanted) outputs.push(attn.output(d, (now = attn.dealt(d, random))));
        heights(outputs);
        if (outputs.length < SHUFFLES) {
          draw(true);
          running = requestAnimationFrame(step);
          return;
        }
        tally[encoder] = { ...attn.effect(d, outputs), outputs, out, tap };
        results.removeAttribute("aria-busy");
        draw();
        path?.shuffled(encoder);
      };
      step(began);
    }
    function stop() {
      cancelAnimationFrame(running);
      results.removeAttribute("aria-busy");
    }
    function heights(outputs) {
      const counts = attn.bins(outputs), most = Math.max(1, ...counts);
      columns.forEach((column, k) => {
        column.style.height = `${(100 * counts[k]) / most}%`;
        column.className = side((k + 0.5) / 40);
      });
    }

    function draw(moving = false) {
      const model = attn.output(d, d.a), p = attn.output(d, now), each = attn.alone(d), places = attn.left(d), unread = none();
      sliders.forEach(({ box, slot, key, share, says }, t) => {
        const gone = t === out, strange = whole().unknown?.includes(d.w[t]);
        slot.style.setProperty("--w", now[t]);
        slot.style.setProperty("--own", d.a[t]);
        slot.setAttribute("aria-valuenow", Math.round(100 * now[t]));
        slot.setAttribute("aria-valuetext", percent(now[t]));
        share.textContent = percent(now[t]);
        says.textContent = strange ? "not read" : gone ? "out" : each[t].toFixed(2);
        box.className = `attn-word ${gone ? "gone" : strange ? "strange" : side(each[t])}`;
        box.style.setProperty("--sure", Math.abs(2 * each[t] - 1).toFixed(3));
        const alone = strange ? "not read: the model does not know it" : gone ? "out" : `with all the weight: ${side(each[t])} ${each[t].toFixed(2)}`;
        key.setAttribute("aria-label", `${d.w[t]}, ${alone}`);
        if (tap === "all") key.removeAttribute("aria-pressed");
        else key.setAttribute("aria-pressed", gone);
      });
      const distance = `, JSD ${attn.jsd(d.a, now).toFixed(2)} of at most ${attn.ceiling(attn.present(d).a).toFixed(2)}`;
      const first = attn.output(whole(), whole().a), lost = out < 0 ? "" : `, ${d.w[out]} ${tap === "delete" ? "deleted" : "erased"}; the whole sentence: ${first.toFixed(2)}`;
      const said = side(p) !== side(model) ? `flipped from ${model.toFixed(2)}` : kind === "own" ? "the model's own answer" : `the model says ${model.toFixed(2)}`;
      show(d, now, kind === "own" && out >= 0 ? lost.slice(2) : said + (kind === "own" || moving ? lost : distance + lost));
      root.classList.toggle("unread", unread);
      if (unread) verdict.firstChild.replaceChildren(element("b", "", "no verdict"));
      if (unread) verdict.lastChild.textContent = "none of these words is known to the model";
      Object.assign(root.dataset, { encoder, out, tap, at });
      if (moving) return;

      const agree = places.filter(t => side(each[t]) === side(model)).length, n = places.length, locked = agree === n;
      const head = locked ? "No attention can flip this." : `${agree} of ${n} states,`;
      const tail = locked ? ` Each of its states (${n}), given all the weight, already says ${side(model)}.`
        : ` given all the weight, ${agree === 1 ? "says" : "say"} ${side(model)}. Grey: every answer that some attention can give.`;
      why.replaceChildren(...(unread ? [] : [element("b", "", head), tail]));
      if (encoder === "average" && out >= 0 && tap === "delete") why.append(" Without context, to delete a word is to erase its weight.");
      press(keys, key => key === kind);
      press(taps, key => key === tap);
      press(readers, key => key === encoder);
      results.replaceChildren(...Object.entries(tally).map(([name, { count, typical, flips, out: gone, tap: how }]) => {
        const line = element("li", name === encoder ? "here" : "", undefined, { style: `--hue: var(--attn-${HUES[name]})` });
        const less = gone < 0 ? "" : ` (${sentences[at].by[name].w[gone]} ${how === "delete" ? "deleted" : "erased"})`;
        line.append(element("b", "", READERS[name]), `${less}: shuffled ${count} times, half move p by ${typical.toFixed(2)} or less; ${flips} change the answer.`);
        return line;
      }));
      Object.assign(root.dataset, { agree, words: n, typical: tally[encoder]?.typical.toFixed(6) ?? "", flips: tally[encoder]?.flips ?? "" });
    }

    /* Bars for the words as this encoder reads them. */
    function build() {
      d = taken(whole());
      root.style.setProperty("--hue", `var(--attn-${HUES[encoder]})`);
      heights(shown());
      readers.querySelectorAll("button").forEach(key => {
        key.disabled = !sentences[at].by[key.dataset.key];
        const about = key.dataset.key === "minilm" ? "a twin of the book's MiniLM, trained on a CPU" : "";
        key.title = key.disabled ? "only stored sentences can be read by it here" : about;
      });
      sliders = d.w.map((word, t) => {
        const box = element("div", "attn-word"), key = element("button", "", word, { type: "button" });
        const slot = element("div", "slot", undefined, { role: "slider", tabindex: 0, "aria-label": `weight of ${word}`,
          "aria-valuemin": 0, "aria-valuemax": 100, "aria-orientation": "vertical" });
        const share = element("small", "", "", { "aria-hidden": true }), says = element("small", "says", "", { "aria-hidden": true });
        slot.append(element("i"), element("u"));
        box.append(slot, key, says, share);
        const follow = event => {
          const at = slot.getBoundingClientRect();
          set(attn.moved(now, t, 1 - (event.clientY - at.top) / at.height));
        };
        slot.onpointerdown = event => { if (t !== out) { slot.setPointerCapture(event.pointerId); follow(event); } };
        slot.onpointermove = event => { if (slot.hasPointerCapture(event.pointerId)) follow(event); };
        slot.onkeydown = event => {
          const to = { ArrowUp: now[t] + 0.05, ArrowRight: now[t] + 0.05, ArrowDown: now[t] - 0.05, ArrowLeft: now[t] - 0.05,
            PageUp: now[t] + 0.2, PageDown: now[t] - 0.2, Home: 0, End: 1 }[event.key];
          if (to === undefined || t === out) return;
          event.preventDefault();
          set(attn.moved(now, t, to));
        };
        key.onclick = () => touch(t);
        const light = on => ticks.querySelector(`[data-t="${t}"]`)?.classList.toggle("lit", on);
        box.onpointerenter = () => light(true);
        box.onpointerleave = () => light(false);
        box.onfocusin = () => light(true);
        box.onfocusout = () => light(false);
        return { box, slot, key, share, says };
      });
      words.replaceChildren(...sliders.map(({ box }) => box));
      choose("own");
    }

    function open(i) {
      stop();
      at = i;
      out = -1;
      tally = {};
      if (!sentences[i].by[encoder]) encoder = "lstm";
      const chips = Object.fromEntries(sentences.map(({ by }, j) => [j, by.lstm.w.join(" ")]));
      pick.replaceChildren(...buttons("", "", chips, key => open(Number(key))).children);
      press(pick, (_, j) => i === j);
      note.textContent = sentences[i].note ?? "";
      build();
      path?.start();
    }

    /* Five steps: guess, shuffle, switch the encoder, shuffle, why. */
    function guide() {
      const panel = group("attn-path", "Five steps"), marks = element("ol", "", undefined, { "aria-hidden": true }), text = element("p", "", "", { "aria-live": "polite" });
      const names = ["guess", "shuffle", "switch", "shuffle", "why"].map(name => element("li", "", name)), next = element("div", "attn-keys");
      marks.append(...names);
      panel.append(marks, text, next);
      let step = 0, guess = "";
      const ask = (line, texts, pressed) => {
        names.forEach((name, i) => name.classList.toggle("now", i === step));
        root.dataset.step = step;
        text.textContent = line;
        next.replaceChildren(...buttons("", "", texts, pressed).children);
      };
      const knowing = name => {
        const reading = sentences[at].by[name], says = side(attn.output(reading, reading.a));
        return `${attn.alone(reading).filter(p => side(p) === says).length} of ${reading.w.length}`;
      };
      const steps = [
        () => ask(`The ${READERS[encoder]} has read “${whole().w.join(" ")}” and weighed its words. Deal its weights anew at random: does its answer stay?`,
          { stays: "mostly", flips: "often not" }, answer => { guess = answer; go(1); }),
        () => ask(guess === "stays" ? "You think that it mostly stays. Shuffle." : "You think that it often flips. Shuffle.", { go: "shuffle" }, () => choose("deal")),
        () => {
          const { count, flips } = tally[encoder];
          ask(`${flips} of ${count} shuffles change the answer. Now a model that reads each word without its neighbours. What will shuffling do to it?`,
            { go: "switch to no context" }, () => read("average"));
        },
        () => ask("The same sentence; each state has seen its own word only. Shuffle again.", { go: "shuffle" }, () => choose("deal")),
        () => ask(`Why? Look at the ticks: each is the answer of one word's state alone. In the BiLSTM ${knowing("lstm")} say what the sentence says, without context ${knowing("average")}. Where the states agree, it matters little which of them attention asks.`,
          { ...(sentences[at].by.minilm ? { minilm: "and a transformer?" } : {}), again: "start again" },
          key => (key === "again" ? begin() : (read("minilm"), choose("deal")))),
      ];
      const go = to => steps[(step = to)]();
      function begin() {
        step = 0;
        encoder = "lstm";
        open(at);
      }
      return {
        panel,
        start: () => go(step < 4 && encoder === "lstm" ? 0 : 4),
        shuffled: name => { if (step < 2 && name === "lstm") go(2); else if (step === 3 && name === "average") go(4); },
        reader: name => { if (step === 2 && name === "average") go(3); },
      };
    }
    open(0);
  }

  /* A line to type a sentence into; the model comes with its first use, from a file beside this script. */
  let reader;
  const loaded = () => (reader ??= new Promise((done, failed) => {
    const script = element("script");
    script.src = new URL("sst-reader.js", here);
    const more = element("script");
    more.src = new URL("sst-words.js", here);
    script.onload = () => document.head.append(more);
    more.onload = more.onerror = () => done(attn.prepare(attn.model));
    script.onerror = () => { reader = undefined; script.remove(); failed(); };
    document.head.append(script);
  }));
  function own(found) {
    const form = element("form", "attn-own"), told = element("small", "", "Its model, 3.5 MB, is loaded once and then reads offline.", { role: "status" });
    const line = element("input", "", undefined, { "aria-label": "Your own sentence", placeholder: "Your own sentence, in English", maxlength: 200, autocomplete: "off" });
    form.append(line, element("button", "", "Read it", { type: "submit" }), told);
    form.onsubmit = async event => {
      event.preventDefault();
      if (!attn.tokens(line.value).length) return void (told.textContent = "Type some English words.");
      told.textContent = "Loading the model …";
      try {
        const model = await loaded(), words = attn.tokens(line.value, model.split).slice(0, 40);
        const reading = attn.read(model, words);
        reading.without = words.length > 1 ? t => attn.read(model, words.filter((_, i) => i !== t)) : undefined;
        const by = { lstm: reading };
        if (model.average) by.average = { ...attn.look(model, words), unknown: reading.unknown };
        found({ note: "", by });
        told.textContent = `Read: ${words.length - reading.unknown.length} of ${words.length} words.`;
      } catch {
        told.textContent = 'The model file is not here. On a command line: python -m attn_core read "…"';
      }
    };
    return form;
  }

  function triangle(root) {
    const [d] = JSON.parse(root.dataset.sentences), figure = document.getElementById(root.dataset.figure);
    let now = d.a, epsilon = Number(root.dataset.epsilon);
    const spot = a => attn.place(a).map((v, i) => (100 * (i ? -v : v)).toFixed(2)), line = points => points.map(a => spot(a).join(" ")).join(" L ");
    const svg = drawn("svg", { viewBox: "-30 -100 160 116", class: "attn-triangle" }), ground = drawn("path", { d: `M ${line([0, 1, 2].map(t => attn.corner(3, t)))} Z`, class: "ground" }, svg);
    const zone = drawn("path", { class: "zone" }, svg);
    for (const level of [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
      attn.contour(d.a, level).forEach((points, i) => {
        drawn("path", { d: `M ${line(points)}`, class: "level" }, svg);
        const [x, y] = spot(points[Math.floor(points.length / 2)]);
        if (!i) drawn("text", { x, y, class: "quiet" }, svg).textContent = level;
      });
    drawn("path", { d: ground.getAttribute("d"), class: "frame" }, svg);
    const each = attn.alone(d);
    d.w.forEach((word, t) => {
      const [x, y] = spot(attn.corner(3, t));
      drawn("text", { x, y: Number(y) + (t === 1 ? -5 : 9) }, svg).textContent = `${word}: p = ${each[t].toFixed(2)}`;
    });
    const own = drawn("circle", { r: 2.2, class: "model" }, svg), star = drawn("path", { class: "star" }, svg);
    const [x, y] = spot(d.a);
    Object.entries({ cx: x, cy: y }).forEach(pair => own.setAttribute(...pair));
    const point = drawn("circle", { r: 4, class: "point", tabindex: 0, role: "slider", "aria-label": `attention on ${d.w.join(", ")}`, "aria-valuemin": 0, "aria-valuemax": 100 }, svg);
    const { parts, show } = meter(root), keys = buttons("attn-keys", "Attention", { own: "the model's", flat: "equal", far: "farthest, same answer" }, choose);
    const wide = element("label", "attn-wide", "the same answer: p within "), range = element("input", "", undefined, { type: "range", min: 0.01, max: 0.3, step: 0.01, value: epsilon });
    const told = element("b");
    wide.append(told, range);
    root.replaceChildren(svg, wide, ...parts, keys);
    figure?.classList.add("attn-alive");
    figure?.querySelector("svg").after(root);

    function choose(name) {
      now = name === "own" ? d.a : name === "flat" ? attn.flat(d) : attn.farthest(d, epsilon);
      draw();
    }
    function draw() {
      const far = attn.farthest(d, epsilon), [cx, cy] = spot(now), [sx, sy] = spot(far).map(Number), p = attn.output(d, now), gap = Math.abs(p - attn.output(d, d.a));
      const zoned = attn.strip(d, attn.band(d, epsilon));
      zone.setAttribute("d", zoned.length ? `M ${line(zoned)} Z` : "");
      const tips = Array.from({ length: 10 }, (_, k) => [k % 2 ? 2 : 5, (Math.PI * k) / 5]);
      star.setAttribute("d", `M ${tips.map(([r, turn]) => `${sx + r * Math.sin(turn)} ${sy - r * Math.cos(turn)}`).join(" L ")} Z`);
      point.setAttribute("cx", cx);
      point.setAttribute("cy", cy);
      point.setAttribute("aria-valuenow", Math.round(100 * now[0]));
      const shares = d.w.map((word, t) => `${word} ${percent(now[t])}`).join(", ");
      point.setAttribute("aria-valuetext", `${shares}; p = ${p.toFixed(2)}`);
      told.textContent = epsilon.toFixed(2);
      show(d, now, `${gap <= epsilon + 1e-9 ? "in the band" : "outside the band"}, JSD ${attn.jsd(d.a, now).toFixed(2)}; the farthest: ${attn.jsd(d.a, far).toFixed(2)}`);
      Object.assign(root.dataset, { now: JSON.stringify(now), farthest: attn.jsd(d.a, far).toFixed(6) });
    }
    const set = (x, y) => { now = attn.weights(x, y); draw(); };
    const follow = event => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      set(at.x / 100, -at.y / 100);
    };
    for (const held of [ground, zone, point, star]) {
      held.onpointerdown = event => { point.setPointerCapture(event.pointerId); follow(event); };
      held.onpointermove = event => { if (point.hasPointerCapture(event.pointerId)) follow(event); };
    }
    point.onkeydown = event => {
      const step = { ArrowUp: [0, 0.02], ArrowDown: [0, -0.02], ArrowLeft: [-0.02, 0], ArrowRight: [0.02, 0] }[event.key];
      if (!step) return;
      event.preventDefault();
      const [x, y] = attn.place(now);
      set(x + step[0], y + step[1]);
    };
    range.oninput = () => { epsilon = Number(range.value); draw(); };
    draw();
  }

  const ORDERS = { attention: "attention", gradient: "gradient", product: "gradient × attention", optimum: "the fewest" };
  function erase(root) {
    const sentences = JSON.parse(root.dataset.sentences);
    let d, gone, rank, tried;
    const pick = buttons("attn-pick", "Sentence", sentences.map(({ w }) => w.join(" ")), key => open(Number(key)));
    const words = group("attn-words", "Words"), { parts, show } = meter(root), why = element("p", "attn-why", "", { "aria-live": "polite" });
    const ranks = buttons("attn-keys", "Order", ORDERS, name => { rank = name; gone = []; draw(); });
    const steps = buttons("attn-keys", "Erase", { one: "erase one", all: "until it flips", none: "start again" }, step);
    fill(root, pick, words, ...parts, why, ranks, steps);
    const flipped = () => side(attn.output(d, attn.kept(d, gone))) !== side(attn.output(d, d.a));

    function step(name) {
      const sequence = attn.order(d, (rank ||= "attention"));
      if (name === "none") gone = [];
      else do {
        const next = sequence.find(t => !gone.includes(t));
        if (next === undefined || flipped()) break;
        gone = [...gone, next];
      } while (name === "all");
      draw();
    }

    function draw() {
      const now = attn.kept(d, gone), fewest = attn.flips(d, attn.order(d, "optimum")), own = attn.output(d, d.a);
      words.replaceChildren(...d.w.map((word, t) => {
        const box = element("div", gone.includes(t) ? "attn-word gone" : "attn-word"), slot = element("div", "slot still", undefined, { "aria-hidden": true });
        const key = element("button", "", word, { type: "button", "aria-pressed": gone.includes(t), "aria-label": `erase ${word}`, "data-key": t });
        slot.style.setProperty("--w", now[t]);
        slot.style.setProperty("--own", d.a[t]);
        slot.append(element("i"), element("u"));
        key.onclick = () => {
          rank = "";
          gone = gone.includes(t) ? gone.filter(s => s !== t) : [...gone, t];
          draw();
          words.children[t].querySelector("button").focus();
        };
        box.append(slot, key, element("small", "", percent(now[t])));
        return box;
      }));
      const flip = flipped();
      if (flip && rank && gone.length === attn.flips(d, attn.order(d, rank))) tried[rank] = gone.length;
      show(d, now, flip ? `flipped from ${own.toFixed(2)}` : `the whole sentence: ${own.toFixed(2)}`);
      const least = fewest > 0 && fewest < d.w.length ? `least possible: ${fewest}` : "least possible: all of them";
      why.replaceChildren(element("b", "", `Erased: ${gone.length}`), ` of ${d.w.length}; ${least}.`,
        flip ? ` ${gone.length === fewest ? "As few as can be." : `${gone.length - fewest} more than needed.`}` : "");
      for (const key of ranks.children) key.textContent = ORDERS[key.dataset.key] + (tried[key.dataset.key] ? `: ${tried[key.dataset.key]}` : "");
      press(ranks, key => key === rank);
      Object.assign(root.dataset, { erased: gone.length, fewest });
    }

    function open(i) {
      [d, gone, rank, tried] = [sentences[i], [], "attention", {}];
      press(pick, (_, j) => i === j);
      draw();
    }
    open(0);
  }

  /* The same sentences in every trained model. Weights are stored in thousandths. */
  const NAMES = { lstm: "BiLSTM", cnn: "CNN", average: "no context", transformer: "transformer", learned: "learned", uniform: "uniform",
    adversary: "trained adversary", farthest: "farthest, same answer" };
  const HEADS = { encoder: "encoder", kind: "attention", seed: "seed" };
  function strips(root) {
    const { sentences, models } = JSON.parse(root.dataset.models), shown = element("div", "attn-strips", undefined, { "aria-live": "polite" });
    const first = models[0], fields = Object.keys(HEADS);
    let now = first;
    const rows = fields.map(field => {
      const values = [...new Set(models.map(model => String(model[field])))], row = group("attn-keys", HEADS[field]);
      row.append(element("small", "", HEADS[field]));
      for (const value of values) {
        const key = element("button", "", NAMES[value] ?? value, { type: "button", "data-key": value });
        key.onclick = () => choose(field, value);
        row.append(key);
      }
      return row;
    });
    fill(root, ...rows, shown);
    /* The model with this value that shares most with the one shown. */
    function choose(field, value) {
      const likeness = model => fields.filter(other => model[other] === now[other]).length;
      now = models.filter(model => String(model[field]) === value).reduce((best, model) => (likeness(model) > likeness(best) ? model : best));
      draw();
    }
    function draw() {
      const shares = a => a.map(x => x / 1000);
      rows.forEach((row, i) => press(row, key => key === String(now[fields[i]])));
      root.style.setProperty("--hue", `var(--attn-${now.encoder})`);
      shown.replaceChildren(...sentences.map((words, i) => {
        const a = shares(now.a[i]), line = element("p", "attn-strip"), distance = attn.jsd(a, shares(first.a[i]));
        const note = now === first ? "" : `, JSD ${distance.toFixed(2)} to the first`;
        line.append(element("b", "", `${side(now.p[i])} ${now.p[i].toFixed(2)}`), element("small", "", note), element("br"));
        words.forEach((word, t) => {
          const mark = element("span", "", word, { title: a[t].toFixed(3), style: `--w:${a[t]}` });
          if (a[t] >= 0.095) mark.append(element("small", "", a[t].toFixed(2).slice(1)));
          line.append(mark, " ");
        });
        return line;
      }));
      Object.assign(root.dataset, { key: `${now.encoder} ${now.kind} ${now.seed}` });
    }
    draw();
  }

  /* Retrained models with more and more context: one row a measure, its mean and interval over seeds, and where the
     BiLSTM lies. data-dial: {stops: [κ], names: {measure: text}, sets: {name: {measure: [[mean, low, high] a stop]}},
     lstm: {name: {measure: mean}}}. */
  function dial(root) {
    const { stops, names, sets, lstm } = JSON.parse(root.dataset.dial), share = x => `${100 * Math.min(1, Math.max(0, x))}%`;
    let now = Object.keys(sets)[0];
    const pick = buttons("attn-pick", "data set", Object.fromEntries(Object.keys(sets).map(name => [name, name])), name => draw((now = name)));
    const line = element("label", "attn-dial"), told = element("output", "", "", { "aria-live": "polite" });
    const range = element("input", "", undefined, { type: "range", min: 0, max: stops.length - 1, value: 0, step: 1, "aria-label": "share of the text's mean in each word" });
    line.append(element("span", "", "the word alone"), range, element("span", "", "the text alone"));
    const rows = element("div", "attn-gauges");
    const gauges = Object.entries(names).map(([measure, name]) => {
      const row = element("div", "attn-gauge"), slot = element("div", "slot"), value = element("b");
      const marks = ["was", "now", "reach", "lstm"].map(kind => element("i", kind));
      slot.append(...marks);
      row.append(element("span", "", name), slot, value);
      rows.append(row);
      return { measure, marks, value };
    });
    fill(root, pick, line, told, rows, element("p", "attn-keys-of", "Bars: mean of five seeds, with its 95% interval. Thin line: κ = 0. Red line: the BiLSTM."));
    range.oninput = () => draw();
    function draw() {
      const stop = Number(range.value);
      press(pick, key => key === now);
      told.textContent = `κ = ${stops[stop]}: ${percent(1 - stops[stop])} word, ${percent(stops[stop])} mean of the text`;
      range.setAttribute("aria-valuetext", told.textContent);
      for (const { measure, marks: [was, bar, reach, other], value } of gauges) {
        const found = sets[now][measure], [mean, low, high] = found[stop];
        was.style.left = share(found[0][0]);
        bar.style.width = share(mean);
        reach.style.cssText = `left:${share(low)};width:calc(${share(high)} - ${share(low)})`;
        other.style.cssText = measure in lstm[now] ? `left:${share(lstm[now][measure])}` : "display:none";
        value.textContent = mean.toFixed(2);
      }
      Object.assign(root.dataset, { stop, set: now });
    }
    draw();
  }

  /* One sentence after each layer: a tile is what one piece would decide with all the attention, or how much it gets.
     data-tiles: {pieces, models: {name: [a row a layer: {p: [], a: []}]}, layers: [names]}. */
  const VIEWS = { p: "what it decides alone", a: "how much attention it gets" };
  function tiles(root) {
    const { pieces, models, layers } = JSON.parse(root.dataset.tiles), figure = document.getElementById(root.dataset.figure);
    let model = Object.keys(models)[0], view = "p", at = [layers.length - 1, 0]; // layer and piece of the chosen tile
    const choices = buttons("attn-keys", "Network", Object.fromEntries(Object.keys(models).map(name => [name, name])), name => draw((model = name)));
    const views = buttons("attn-keys", "Tiles show", VIEWS, name => draw((view = name)));
    const table = element("table", "attn-tiles", undefined, { "aria-label": "Tiles: layers down, pieces across; arrow keys move" });
    const detail = element("p", "attn-why", "", { "aria-live": "polite" });
    const head = element("tr"), body = element("tbody"), top = element("thead");
    head.append(element("th", "", "layer", { scope: "col" }));
    for (const piece of pieces) {
      const cell = element("th", "", undefined, { scope: "col" });
      cell.append(element("span", "", piece));
      head.append(cell);
    }
    head.append(element("th", "count", "−", { scope: "col", "aria-label": "pieces that decide negative" }));
    top.append(head);
    const counts = [], cells = layers.map((name, layer) => {
      const row = element("tr"), keys = pieces.map((_, piece) => {
        const cell = element("td"), key = element("button", "", "", { type: "button" });
        key.onclick = key.onfocus = () => choose(layer, piece);
        cell.append(key);
        return { cell, key };
      });
      counts[layer] = element("td", "count");
      row.append(element("th", "", name, { scope: "row" }), ...keys.map(({ cell }) => cell), counts[layer]);
      body.append(row);
      return keys.map(({ key }) => key);
    });
    table.append(top, body);
    table.onkeydown = event => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      const next = step && cells[at[0] + step[0]]?.[at[1] + step[1]];
      if (!next) return;
      event.preventDefault();
      next.focus();
    };
    function choose(layer, piece) {
      cells[at[0]][at[1]].tabIndex = -1;
      at = [layer, piece];
      cells[layer][piece].tabIndex = 0;
      tell();
    }
    function tell() {
      const [layer, piece] = at, p = models[model].map(row => row.p[piece]), share = models[model][layer].a[piece];
      detail.replaceChildren(element("b", "", `“${pieces[piece]}”`), ` after layer ${layers[layer]}: ${side(p[layer])} ${p[layer].toFixed(2)} with all the attention; it gets ${percent(share)}. `
        + `Layer by layer: ${p.map(value => value.toFixed(2)).join(", ")}.`);
      cells.forEach((row, i) => row.forEach((key, j) => key.classList.toggle("chosen", i === layer && j === piece)));
      Object.assign(root.dataset, { model, view, layer, piece, p: p[layer].toFixed(6), share: share.toFixed(6) });
    }
    function draw() {
      cells.forEach((row, layer) => {
        const { p, a } = models[model][layer];
        row.forEach((key, piece) => {
          key.className = view === "a" ? "share" : side(p[piece]);
          key.style.setProperty("--sure", view === "a" ? Math.min(1, 1.6 * a[piece]) : Math.abs(2 * p[piece] - 1));
          key.textContent = view === "a" ? Math.round(100 * a[piece]) : p[piece] > 0.5 ? "+" : "−";
          key.setAttribute("aria-label", `${pieces[piece]}, layer ${layers[layer]}: ${view === "a" ? percent(a[piece]) : `${side(p[piece])} ${p[piece].toFixed(2)}`}`);
          key.tabIndex = layer === at[0] && piece === at[1] ? 0 : -1;
        });
        counts[layer].textContent = p.filter(value => value <= 0.5).length;
      });
      press(choices, key => key === model);
      press(views, key => key === view);
      tell();
    }
    root.replaceChildren(choices, views, table, detail);
    figure?.classList.add("attn-alive");
    figure?.querySelector("svg").after(root);
    draw();
  }

  const plays = { move, triangle, erase, strips, dial, tiles };
  /* A second link for the keyboard, after the theme's to the page's text: to the first thing to play with. */
  function shortcut(root) {
    const box = element("div", "skip-link d-print-none"), link = element("a", "", "Skip to the first element to play with", { href: "#attn-play" });
    root.id ||= "attn-play";
    link.href = `#${root.id}`;
    link.onclick = event => {
      event.preventDefault();
      root.scrollIntoView();
      root.querySelector("button, input, [tabindex='0']")?.focus();
    };
    box.append(link);
    const first = document.querySelector(".skip-link");
    first ? first.after(box) : document.body.prepend(box);
  }
  function start() {
    const roots = document.querySelectorAll(".attn-play[data-play]");
    roots.forEach(root => plays[root.dataset.play](root));
    if (roots.length) shortcut(roots[0]);
  }
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", start) : start();
}
