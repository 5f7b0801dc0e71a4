/* The book's arithmetic in the page, without a framework and without a network.
   A sentence is {w: words, a: the model's weights, c: contributions, b: bias}; p = sigmoid(b + sum a_t c_t).
   The functions of `attn` are tested in node against the Python package; the rest brings every .attn-play of a page to
   life: data-play names which of move, triangle, erase, strips and tiles; what stands in it before is its picture on paper. */
"use strict"; // else the functions of the block below would be names of the whole page
const attn = (() => {
  const sigmoid = z => 1 / (1 + Math.exp(-z));
  const logit = p => (p <= 0 ? -Infinity : p >= 1 ? Infinity : Math.log(p / (1 - p)));
  const entropy = (x, m) => (x > 0 ? x * Math.log(x / m) : 0);
  const sum = values => values.reduce((total, x) => total + x, 0);
  const softmax = z => {
    const e = z.map(x => Math.exp(x - Math.max(...z)));
    return e.map(x => x / sum(e));
  };
  const output = (d, a = d.a) => sigmoid(a.reduce((total, x, t) => total + x * d.c[t], d.b)); // under the model's own weights, or others
  const jsd = (a, b) => Math.max(0, sum(a.map((x, t) => {
    const m = (x + b[t]) / 2;
    return (entropy(x, m) + entropy(b[t], m)) / 2;
  })));
  const corner = (n, i, w = 1, j = -1) => Array.from({ length: n }, (_, t) => (t === i ? w : t === j ? 1 - w : 0));
  const flat = d => d.a.map(() => 1 / d.a.length);
  const ceiling = a => jsd(a, corner(a.length, a.indexOf(Math.min(...a)))); // all weight on the least attended word
  const alone = d => d.c.map(c => sigmoid(d.b + c)); // each word with all the attention

  /* Where attentions of a band of sum a_t c_t end: all weight on a word within it, or on two, on an edge of it. */
  const inside = (d, [low, high], i) => (d.c[i] >= low && d.c[i] <= high ? [corner(d.c.length, i)] : []);
  const ends = (d, edges, i, j) => edges.map(edge => (edge - d.c[i]) / (d.c[j] - d.c[i])).filter(w => w > 0 && w < 1)
    .sort((v, w) => v - w).map(w => corner(d.c.length, i, 1 - w, j));
  /* The attention farthest from the model's whose output differs by at most epsilon. JSD is convex, so its largest
     value over simplex and band lies at an end. */
  function optimal(d, epsilon) {
    const edges = band(d, epsilon), places = [...d.c.keys()];
    const corners = places.flatMap(i => [...inside(d, edges, i), ...places.slice(i + 1).flatMap(j => ends(d, edges, i, j))]);
    return corners.reduce((best, a) => (jsd(d.a, a) > jsd(d.a, best) ? a : best), d.a);
  }

  /* Lowest and highest sum a_t c_t whose output differs by at most epsilon. */
  function band(d, epsilon) {
    const p = output(d);
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
     the minimal set of words that flips it is the first of those whose a_t (b + c_t) speaks most for it. */
  function order(d, name) {
    const way = output(d) > 0.5 ? 1 : -1;
    const score = { attention: t => d.a[t], gradient: t => way * d.c[t], product: t => way * d.a[t] * d.c[t],
      optimum: t => way * d.a[t] * (d.b + d.c[t]) }[name];
    return d.a.map((_, t) => t).sort((s, t) => score(t) - score(s) || s - t);
  }
  /* How many words of an order are erased when the decision first changes; -1: never. */
  function flips(d, sequence) {
    const own = output(d) > 0.5;
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
    const sorted = [...values].sort((x, y) => x - y), n = sorted.length;
    return (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2;
  }
  /* Numbers in [0, 1), the same for the same start: what a page shows can be shown again. */
  function stream(start) {
    return () => (start = (Math.imul(start, 1664525) + 1013904223) >>> 0) / 4294967296;
  }
  /* The weights permuted among the words that are there. */
  const permuted = (d, random) => placed(d, shuffled(present(d).a, random));
  /* What permutations do to the output: half of them move it by at most `typical`, `flips` change the decision. */
  function effect(d, outputs) {
    const own = output(d);
    return { typical: median(outputs.map(p => Math.abs(p - own))),
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
  /* Attentions at JSD `level` from `a`, as lines of points: on the way from `a` to any point of the edge JSD grows. */
  function contour(a, level, rays = 240) {
    const lines = [[]];
    for (let k = 0; k <= rays; k++) {
      const way = (3 * k) / rays, edge = Math.floor(way) % 3, end = corner(3, edge, 1 - (way % 1), (edge + 1) % 3);
      const at = r => a.map((x, t) => x + r * (end[t] - x));
      if (jsd(a, end) < level) {
        lines.push([]);
        continue;
      }
      let low = 0, high = 1;
      for (let i = 0; i < 30; i++) {
        const middle = (low + high) / 2;
        jsd(a, at(middle)) < level ? (low = middle) : (high = middle);
      }
      lines.at(-1).push(at(high));
    }
    return lines.filter(line => line.length > 1);
  }
  /* The corners of what of the triangle lies within a band, one after the other. */
  const strip = (d, edges) => [0, 1, 2].flatMap(i => [...inside(d, edges, i), ...ends(d, edges, i, (i + 1) % 3)]);

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
    return { ...model, embedding, matrix, index: new Map(model.words.map((word, i) => [word, i])) };
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
    return { w: words, a: softmax(rows.map(row => score[row] / 1000)), c: rows.map(row => c[row] / 1000), b };
  }
  function read(model, words) {
    const { embedding, matrix, index } = model, ids = [2, ...words.map(word => index.get(word) ?? 1), 3];
    const inputs = ids.map(embedding.row), backward = states([...inputs].reverse(), matrix, "backward").reverse();
    const h = states(inputs, matrix, "forward").map((state, t) => [...state, ...backward[t]]).slice(1, -1);
    const [wish] = matrix["attention.v.weight"], [bias] = matrix["attention.project.bias"];
    const score = h.map(state => sum(times(matrix["attention.project.weight"], state, bias).map((z, r) => wish[r] * Math.tanh(z))));
    return { w: words, a: softmax(score), c: h.map(state => times(matrix["decoder.weight"], state)[0]),
      b: matrix["decoder.bias"][0][0], unknown: words.filter(word => !index.has(word)) };
  }
  return { output, jsd, corner, flat, ceiling, alone, optimal, band, moved, shuffled, kept, order, flips, erased, deleted, left, present,
    placed, stream, permuted, effect, bins, place, weights, contour, strip, prepare, tokens, read, look };
})();

if (typeof module !== "undefined") module.exports = attn;

if (typeof document !== "undefined") {
  const here = document.currentScript?.src;
  /* Elements from HTML of this script's own; words are data and are put in as text. */
  const made = html => [...Object.assign(document.createElement("template"), { innerHTML: html }).content.children];
  const element = (tag, className, textContent = "", more = {}) => Object.assign(document.createElement(tag), { className, textContent, ...more });
  const drawn = (tag, attributes) => {
    const shape = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) shape.setAttribute(name, value);
    return shape;
  };
  const side = p => (p > 0.5 ? "positive" : "negative");
  const percent = x => `${Math.round(100 * x)}%`;
  const share = x => `${100 * Math.min(1, Math.max(0, x))}%`;
  const group = (kind, name) => element("div", kind, "", { role: "group", ariaLabel: name });
  const told = (root, values) => Object.assign(root.dataset, values); // for whoever tests the page

  /* Puts parts into an element; what stood in it is kept for paper. */
  function fill(root, ...parts) {
    const still = element("div", "attn-still");
    still.append(...root.childNodes);
    root.replaceChildren(still, ...parts);
  }
  /* Puts an element in the place of the drawing of its figure, which is kept for paper. */
  function replace(root, ...parts) {
    const figure = document.getElementById(root.dataset.figure);
    root.replaceChildren(...parts);
    figure?.classList.add("attn-alive");
    figure?.querySelector("svg").after(root);
  }

  /* A row of buttons, key -> what it says, behind a word on what they choose; `show` marks the one that is chosen. */
  function buttons(kind, name, texts, pressed, head) {
    const row = group(kind, name);
    if (head) row.append(element("small", "", head));
    for (const [key, text] of Object.entries(texts)) {
      const button = element("button", "", text, { type: "button", onclick: () => pressed(key) });
      button.dataset.key = key;
      row.append(button);
    }
    row.show = chosen => row.querySelectorAll("button").forEach(key => (key.ariaPressed = key.dataset.key === String(chosen)));
    return row;
  }

  /* A word below a bar of its weight; the line is the model's own. */
  function bar(word) {
    const [box] = made(`<div class="attn-word"><div class="slot"><i></i><u></u></div><button type="button"></button>
      <small class="says" aria-hidden="true"></small><small aria-hidden="true"></small></div>`);
    const [slot, key, says, weight] = box.children;
    key.textContent = word;
    const show = (now, own) => {
      slot.style.setProperty("--w", now);
      slot.style.setProperty("--own", own);
      weight.textContent = percent(now);
    };
    return { box, slot, key, says, show };
  }

  /* The answer in words, and an axis from negative to positive: grey, all answers that any attention can give; a tick
     for each word, the answer if it had all the weight. */
  function meter(root) {
    const parts = made(`<div class="attn-verdict"><output aria-live="polite"></output><span class="attn-was"></span></div>
      <div class="attn-axis" aria-hidden="true"><span class="reach"></span><span class="ticks"></span><span class="half"></span>
      <span class="own"></span><span class="now"></span></div>
      <div class="attn-ends" aria-hidden="true"><span>negative</span><span>positive</span></div>`);
    const [answer, was] = parts[0].children, [reach, ticks, , own, here] = parts[1].children;
    const show = (d, now, note) => {
      const model = attn.output(d), p = attn.output(d, now), alone = attn.alone(d), each = attn.left(d).map(t => alone[t]);
      const low = Math.min(...each);
      ticks.replaceChildren(...attn.left(d).map(t => {
        const tick = element("i", side(alone[t]));
        tick.style.left = share(alone[t]);
        return tick;
      }));
      answer.replaceChildren(element("b", "", side(p)), `, p = ${p.toFixed(2)}`);
      was.textContent = note;
      root.classList.toggle("flipped", side(p) !== side(model));
      reach.style.cssText = `left:${share(low)};width:${share(Math.max(...each) - low)}`;
      own.style.left = share(model);
      here.style.left = share(p);
      told(root, { p, jsd: attn.jsd(d.a, now) });
    };
    return { parts, show, answer, was };
  }

  /* ---- one sentence, three encoders: move its weights, take a word out, shuffle ---- */
  const KEYS = { own: "the model's", flat: "uniform", shuffle: "shuffle", far: "adversarial, same answer" };
  const TAPS = { all: "give it all the weight", erase: "erase its weight", delete: "delete the word" };
  const READERS = { lstm: "BiLSTM", average: "no context", minilm: "transformer" };
  const hue = encoder => `var(--attn-${encoder === "minilm" ? "transformer" : encoder})`;
  const SHUFFLES = 300;
  const SHUFFLING = 1500; // milliseconds that they take
  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  function move(root) {
    const sentences = JSON.parse(root.dataset.sentences), epsilon = Number(root.dataset.epsilon || 0.05);
    const stored = sentences.length;
    let at, encoder = "lstm", tap = "all", out = -1; // the sentence, who reads it, what a tap does, the word that is out
    let d, now, kind, bars, running, tally; // its reading, the weights shown and their name, bars, the animation, what shuffles did

    const readers = buttons("attn-keys", "Encoder", READERS, read, "read by");
    const pick = buttons("attn-pick", "Sentence", {}), words = group("attn-words", "Weights");
    const taps = buttons("attn-keys", "A tap on a word", TAPS, name => { tap = name; take(tap === "all" ? -1 : out); }, "tap a word to");
    const keys = buttons("attn-keys", "Attention", { ...KEYS, far: `${KEYS.far} ± ${epsilon}` }, choose);
    const [note, histogram, why, results] = made(`<p class="attn-note"></p><div class="attn-histogram" aria-hidden="true"></div>
      <p class="attn-why"></p><ul class="attn-tally" aria-live="polite" aria-label="What shuffling does"></ul>`);
    histogram.append(...Array.from({ length: 40 }, () => element("i", "")));
    const { parts: [verdict, ...axis], show, answer, was } = meter(root);
    const path = root.dataset.path ? guide() : undefined;
    readers.lastChild.title = "a twin of the book's MiniLM, trained on a CPU; it reads the stored sentences alone";
    fill(root, ...(path ? [path.panel] : []), readers, pick, note, words, taps, verdict, histogram, ...axis, why, keys, results);
    if (root.dataset.own) root.append(own(sentence => {
      sentences.splice(stored, 1, sentence); // one typed sentence at a time
      open(stored);
    }));

    const whole = () => sentences[at].by[encoder];
    /* The reading with the word that is out taken out, its weight or itself. */
    function taken() {
      if (out < 0) return whole();
      return (tap === "delete" ? attn.deleted : attn.erased)(whole(), out);
    }
    const lost = () => `${d.w[out]} ${tap}d`;

    function read(name) {
      const places = whole().w.join(" ");
      stop();
      encoder = name;
      if (whole().w.join(" ") !== places) out = -1; // word pieces may be others than the words
      build();
      path?.reader(name);
    }
    function touch(t) {
      if (tap === "all") set(attn.corner(d.w.length, t));
      else take(out === t ? -1 : t);
    }
    function take(t) {
      out = t;
      heights([]);
      choose("own");
    }
    function set(a) {
      stop();
      kind = "";
      now = a;
      draw();
    }
    function choose(name) {
      if (name === "shuffle" && results.ariaBusy) return; // it is shuffling
      stop();
      d = taken();
      if (name === "shuffle") return shuffle();
      const there = attn.present(d);
      kind = name;
      now = name === "own" ? d.a : attn.placed(d, name === "flat" ? attn.flat(there) : attn.optimal(there, epsilon));
      draw();
    }

    /* Permutations one after the other; the histogram fills, the last one stays. */
    function shuffle() {
      const random = attn.stream(1), outputs = [], began = performance.now(), pace = still() ? Infinity : SHUFFLES / SHUFFLING;
      kind = "shuffle";
      results.ariaBusy = true;
      const step = time => {
        while (outputs.length < Math.min(SHUFFLES, pace * Math.max(1, time - began))) outputs.push(attn.output(d, (now = attn.permuted(d, random))));
        heights(outputs);
        if (outputs.length < SHUFFLES) {
          draw(true);
          running = requestAnimationFrame(step);
          return;
        }
        tally[encoder] = { ...attn.effect(d, outputs), less: out < 0 ? "" : ` (${lost()})` };
        stop();
        draw();
        path?.shuffled(encoder);
      };
      step(began);
    }
    function stop() {
      cancelAnimationFrame(running);
      results.ariaBusy = null;
    }
    function heights(outputs) {
      const counts = attn.bins(outputs), most = Math.max(1, ...counts);
      [...histogram.children].forEach((column, k) => {
        column.style.height = share(counts[k] / most);
        column.className = side((k + 0.5) / 40);
      });
    }

    function draw(moving = false) {
      const model = side(attn.output(d)), each = attn.alone(d), unknown = whole().unknown ?? [];
      bars.forEach(({ box, slot, key, says, show }, t) => {
        const gone = t === out, strange = unknown.includes(d.w[t]);
        show(now[t], d.a[t]);
        slot.ariaValueNow = Math.round(100 * now[t]);
        slot.ariaValueText = percent(now[t]);
        says.textContent = strange ? "not read" : gone ? "out" : `p ${each[t].toFixed(2)}`;
        box.className = `attn-word ${gone ? "gone" : strange ? "strange" : side(each[t])}`;
        box.style.setProperty("--sure", Math.abs(2 * each[t] - 1));
        key.ariaLabel = `${d.w[t]}, alone: ${says.textContent}`;
        key.ariaPressed = tap === "all" ? null : gone;
      });
      show(d, now, remark(moving));
      told(root, { encoder });
      const unread = unknown.length === d.w.length; // not one word is known
      root.classList.toggle("unread", unread);
      if (unread) {
        answer.replaceChildren(element("b", "", "no verdict"));
        was.textContent = "none of these words is known to the model";
      }
      if (moving) return;

      const n = attn.left(d).length, agree = attn.left(d).filter(t => side(each[t]) === model).length;
      const [head, tail] = agree === n ? ["No attention can change this decision.", ` Each of its states (${n}), given all the weight, gives it.`]
        : [`${agree} of ${n} states`, " give this decision when they receive all the weight. Grey: every answer that some attention can give."];
      why.replaceChildren(...(unread ? [] : [element("b", "", head), tail]));
      keys.show(kind);
      taps.show(tap);
      readers.show(encoder);
      results.replaceChildren(...Object.entries(tally).map(([name, { typical, flips, less }]) => {
        const line = element("li", name === encoder ? "here" : "");
        line.style.setProperty("--hue", hue(name));
        line.append(element("b", "", READERS[name]), `${less}: shuffled ${SHUFFLES} times, half move p by ${typical.toFixed(2)} or less; ${flips} change the decision.`);
        return line;
      }));
      told(root, { flips: tally[encoder]?.flips ?? "" });
    }
    /* What is said beside the answer: whether it flipped, how far the weights moved, what is out. */
    function remark(moving) {
      const model = attn.output(d), first = attn.output(whole()).toFixed(2), parts = [];
      if (side(attn.output(d, now)) !== side(model)) parts.push(`flipped from p = ${model.toFixed(2)}`);
      else if (kind !== "own") parts.push(`the model says p = ${model.toFixed(2)}`);
      else if (out < 0) parts.push("the model's own answer");
      if (kind !== "own" && !moving) parts.push(`JSD ${attn.jsd(d.a, now).toFixed(2)} of at most ${attn.ceiling(attn.present(d).a).toFixed(2)}`);
      if (out >= 0) parts.push(`${lost()}; the whole sentence: p = ${first}`);
      return parts.join(", ");
    }

    /* Bars for the words as this encoder reads them. */
    function build() {
      d = taken();
      root.style.setProperty("--hue", hue(encoder));
      heights([]);
      readers.querySelectorAll("button").forEach(key => (key.disabled = !sentences[at].by[key.dataset.key]));
      bars = d.w.map(slider);
      words.replaceChildren(...bars.map(({ box }) => box));
      choose("own");
    }
    function slider(word, t) {
      const parts = bar(word), { box, slot, key } = parts;
      Object.assign(slot, { role: "slider", tabIndex: 0, ariaLabel: `weight of ${word}`, ariaValueMin: 0, ariaValueMax: 100, ariaOrientation: "vertical" });
      const to = weight => t !== out && set(attn.moved(now, t, weight));
      held(slot, [slot], event => {
        const { top, height } = slot.getBoundingClientRect();
        to(1 - (event.clientY - top) / height);
      });
      const steps = { ArrowUp: 0.05, ArrowRight: 0.05, ArrowDown: -0.05, ArrowLeft: -0.05, PageUp: 0.2, PageDown: -0.2, Home: -1, End: 1 };
      stepped(slot, steps, step => to(now[t] + step));
      key.onclick = () => touch(t);
      return parts;
    }

    function open(i) {
      stop();
      at = i;
      out = -1;
      tally = {};
      if (!sentences[i].by[encoder]) encoder = "lstm";
      const chips = Object.fromEntries(sentences.map(({ by }, j) => [j, by.lstm.w.join(" ")]));
      pick.replaceChildren(...buttons("", "", chips, key => open(Number(key))).children);
      pick.show(i);
      note.textContent = sentences[i].note ?? "";
      build();
      path?.start();
    }

    /* Five steps: guess, shuffle, switch the encoder, shuffle, why. */
    function guide() {
      const panel = group("attn-path", "Five steps");
      panel.append(...made(`<ol aria-hidden="true"><li>guess</li><li>shuffle</li><li>switch</li><li>shuffle</li><li>why</li></ol>
        <p aria-live="polite"></p><div class="attn-keys"></div>`));
      const [list, text, next] = panel.children;
      let step = 0;
      const ask = (line, texts, pressed) => {
        [...list.children].forEach((mark, i) => mark.classList.toggle("now", i === step));
        told(root, { step });
        text.textContent = line;
        next.replaceChildren(...buttons("", "", texts, pressed).children);
      };
      const shuffling = line => ask(line, { go: "shuffle" }, () => choose("shuffle"));
      const knowing = name => {
        const reading = sentences[at].by[name], says = side(attn.output(reading));
        return `${attn.alone(reading).filter(p => side(p) === says).length} of ${reading.w.length}`;
      };
      const steps = [
        () => ask(`The ${READERS[encoder]} has read “${whole().w.join(" ")}” and weighed its words. Permute the weights at random: does its decision stay?`,
          { stays: "mostly", flips: "often not" }, () => go(1)),
        () => shuffling("Shuffle, and see."),
        () => ask(`${tally[encoder].flips} of ${SHUFFLES} permutations change its decision on this sentence. Now a model that reads each word without its neighbours. What will permuting do to it?`,
          { go: "switch to no context" }, () => read("average")),
        () => shuffling("The same sentence; each state has seen its own word only. Shuffle again."),
        () => ask(`Why? Each tick is the answer of one word's state with all the weight. Of this sentence's states ${knowing("lstm")} give the decision in the BiLSTM, ${knowing("average")} without context. Where the states agree, it matters little which of them gets the weight.`,
          { ...(sentences[at].by.minilm && { minilm: "and a transformer?" }), again: "start again" }, last),
      ];
      const go = to => steps[(step = to)]();
      function last(key) {
        if (key === "minilm") {
          read(key);
          return choose("shuffle");
        }
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

  /* What a pointer does that is put down on one of the parts: it moves `handle` until it is lifted. */
  function held(handle, parts, follow) {
    for (const part of parts) {
      part.onpointerdown = event => { handle.setPointerCapture(event.pointerId); follow(event); };
      part.onpointermove = event => { if (handle.hasPointerCapture(event.pointerId)) follow(event); };
    }
  }

  /* Keys that move something: each its step. */
  const stepped = (handle, steps, move) => (handle.onkeydown = event => {
    if (!steps[event.key]) return;
    event.preventDefault();
    move(steps[event.key]);
  });

  /* A line to type a sentence into; the model comes with its first use, from a file beside this script. */
  let reader;
  const loaded = () => (reader ??= new Promise((done, failed) => {
    const [script, more] = ["sst-reader.js", "sst-words.js"].map(name => element("script", "", "", { src: new URL(name, here) }));
    script.onload = () => document.head.append(more);
    more.onload = more.onerror = () => done(attn.prepare(attn.model));
    script.onerror = () => { reader = undefined; script.remove(); failed(); };
    document.head.append(script);
  }));
  function own(found) {
    const [form] = made(`<form class="attn-own"><input aria-label="Your own sentence" placeholder="Your own sentence, in English" maxlength="200" autocomplete="off">
      <button type="submit">Read it</button><small role="status">Its model, 3.5 MB, is loaded once and then reads offline.</small></form>`);
    const [line, , status] = form.children, say = text => (status.textContent = text);
    form.onsubmit = async event => {
      event.preventDefault();
      if (!attn.tokens(line.value).length) return void say("Type some English words.");
      say("Loading the model …");
      try {
        const model = await loaded(), words = attn.tokens(line.value, model.split).slice(0, 40), lstm = attn.read(model, words);
        if (words.length > 1) lstm.without = t => attn.read(model, words.filter((_, i) => i !== t));
        found({ by: { lstm, ...(model.average && { average: { ...attn.look(model, words), unknown: lstm.unknown } }) } });
        say(`Read: ${words.length - lstm.unknown.length} of ${words.length} words.`);
      } catch {
        say('The model file is not here. On a command line: python -m attn_core read "…"');
      }
    };
    return form;
  }

  function triangle(root) {
    const [d] = JSON.parse(root.dataset.sentences), { shuffle, ...KINDS } = KEYS;
    let now = d.a, epsilon = Number(root.dataset.epsilon);
    const spot = a => attn.place(a).map((v, i) => 100 * (i ? -v : v)), line = points => `M ${points.map(a => spot(a).join(" ")).join(" L ")}`;
    const [svg, wide] = made(`<svg viewBox="-30 -100 160 116" class="attn-triangle"><path class="ground"/><path class="zone"/><path class="frame"/>
      <circle r="2.2" class="model"/><path class="star" d="M0-5 1.2-1.6 4.8-1.5 1.9.6 2.9 4 0 2-2.9 4-1.9.6-4.8-1.5-1.2-1.6Z"/><circle r="4" class="point" tabindex="0" role="slider" aria-valuemin="0" aria-valuemax="100"/></svg>
      <label class="attn-wide">the same answer: p within <b></b><input type="range" min="0.01" max="0.3" step="0.01"></label>`);
    const [ground, zone, frame, own, star, point] = svg.children, [width, range] = wide.children;
    const label = (text, x, y, kind = "") => {
      const shape = drawn("text", { x, y, class: kind });
      shape.textContent = text;
      frame.before(shape);
    };
    const put = (circle, a) => spot(a).forEach((v, i) => circle.setAttribute(i ? "cy" : "cx", v));
    for (const side of [ground, frame]) side.setAttribute("d", `${line([0, 1, 2].map(t => attn.corner(3, t)))} Z`);
    for (const level of [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
      attn.contour(d.a, level).sort((one, other) => other.length - one.length).forEach((points, i) => {
        frame.before(drawn("path", { d: line(points), class: "level" }));
        if (!i) label(level, ...spot(points[Math.floor(points.length / 2)]), "quiet");
      });
    attn.alone(d).forEach((p, t) => {
      const [x, y] = spot(attn.corner(3, t));
      label(`${d.w[t]}: p = ${p.toFixed(2)}`, x, y + (t === 1 ? -5 : 9));
    });
    put(own, d.a);
    point.ariaLabel = `attention on ${d.w.join(", ")}`;
    range.value = epsilon;
    const { parts, show } = meter(root), keys = buttons("attn-keys", "Attention", KINDS, name => {
      now = name === "own" ? d.a : name === "flat" ? attn.flat(d) : attn.optimal(d, epsilon);
      draw();
    });
    replace(root, svg, wide, ...parts, keys);

    function draw() {
      const far = attn.optimal(d, epsilon), p = attn.output(d, now), inside = Math.abs(p - attn.output(d)) <= epsilon + 1e-9;
      const zoned = attn.strip(d, attn.band(d, epsilon)), optimal = attn.jsd(d.a, far);
      zone.setAttribute("d", zoned.length ? `${line(zoned)} Z` : "");
      star.setAttribute("transform", `translate(${spot(far).join(" ")})`);
      put(point, now);
      point.ariaValueNow = Math.round(100 * now[0]);
      point.ariaValueText = `${d.w.map((word, t) => `${word} ${percent(now[t])}`).join(", ")}; p = ${p.toFixed(2)}`;
      width.textContent = epsilon.toFixed(2);
      show(d, now, `${inside ? "in the band" : "outside the band"}, JSD ${attn.jsd(d.a, now).toFixed(2)}; optimal adversarial attention: ${optimal.toFixed(2)}`);
      told(root, { now: JSON.stringify(now), optimal });
    }
    function set(x, y) {
      now = attn.weights(x, y);
      draw();
    }
    held(point, [ground, zone, point, star], event => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      set(at.x / 100, -at.y / 100);
    });
    stepped(point, { ArrowUp: [0, 0.02], ArrowDown: [0, -0.02], ArrowLeft: [-0.02, 0], ArrowRight: [0.02, 0] }, ([right, up]) => {
      const [x, y] = attn.place(now);
      set(x + right, y + up);
    });
    range.oninput = () => { epsilon = Number(range.value); draw(); };
    draw();
  }

  const ORDERS = { attention: "attention", gradient: "gradient", product: "gradient × attention", optimum: "minimal set" };
  function erase(root) {
    const sentences = JSON.parse(root.dataset.sentences);
    let d, gone, rank, tried, bars;
    const pick = buttons("attn-pick", "Sentence", sentences.map(({ w }) => w.join(" ")), key => open(Number(key)));
    const words = group("attn-words", "Words"), { parts, show } = meter(root), [why] = made(`<p class="attn-why" aria-live="polite"></p>`);
    const ranks = buttons("attn-keys", "Order", ORDERS, name => { rank = name; gone = []; draw(); });
    const steps = buttons("attn-keys", "Erase", { one: "erase one", all: "until it flips", none: "start again" }, step);
    fill(root, pick, words, ...parts, why, ranks, steps);
    const flipped = () => side(attn.output(d, attn.kept(d, gone))) !== side(attn.output(d));

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
    function touch(t) {
      rank = "";
      gone = gone.includes(t) ? gone.filter(s => s !== t) : [...gone, t];
      draw();
    }
    function draw() {
      const now = attn.kept(d, gone), fewest = attn.flips(d, attn.order(d, "optimum")), own = attn.output(d).toFixed(2), flip = flipped();
      bars.forEach(({ box, key, show }, t) => {
        box.classList.toggle("gone", gone.includes(t));
        key.ariaPressed = gone.includes(t);
        show(now[t], d.a[t]);
      });
      if (flip && rank && gone.length === attn.flips(d, attn.order(d, rank))) tried[rank] = gone.length;
      show(d, now, `${flip ? "flipped from" : "the whole sentence:"} p = ${own}`);
      const least = fewest > 0 && fewest < d.w.length ? fewest : "all of them";
      why.replaceChildren(element("b", "", `Erased: ${gone.length}`), ` of ${d.w.length}; minimal set: ${least}.`);
      for (const key of ranks.children) key.textContent = [ORDERS[key.dataset.key], tried[key.dataset.key]].filter(Boolean).join(": ");
      ranks.show(rank);
      told(root, { erased: gone.length });
    }
    function open(i) {
      [d, gone, rank, tried] = [sentences[i], [], "attention", {}];
      bars = d.w.map(bar);
      bars.forEach(({ slot, key, says }, t) => {
        slot.classList.add("still");
        slot.ariaHidden = true;
        says.remove();
        Object.assign(key, { ariaLabel: `erase ${d.w[t]}`, onclick: () => touch(t) });
      });
      words.replaceChildren(...bars.map(({ box }) => box));
      pick.show(i);
      draw();
    }
    open(0);
  }

  /* The same sentences in every trained model. Weights are stored in thousandths. */
  const NAMES = { ...READERS, adversary: "trained adversary", optimal: "adversarial, same answer" };
  const FIELDS = { encoder: "encoder", kind: "attention", seed: "seed" };
  function strips(root) {
    const { sentences, models } = JSON.parse(root.dataset.models), fields = Object.keys(FIELDS), [shown] = made(`<div class="attn-strips" aria-live="polite"></div>`);
    const first = models[0], shares = a => a.map(x => x / 1000);
    let now = first;
    const rows = fields.map(field => {
      const values = new Set(models.map(model => model[field])), texts = [...values].map(value => [value, NAMES[value] ?? value]);
      return buttons("attn-keys", FIELDS[field], Object.fromEntries(texts), value => choose(field, value), FIELDS[field]);
    });
    fill(root, ...rows, shown);
    /* The model with this value that shares most with the one shown. */
    function choose(field, value) {
      const likeness = model => fields.filter(other => model[other] === now[other]).length;
      now = models.filter(model => String(model[field]) === value).reduce((best, model) => (likeness(model) > likeness(best) ? model : best));
      draw();
    }
    function draw() {
      rows.forEach((row, i) => row.show(now[fields[i]]));
      root.style.setProperty("--hue", hue(now.encoder));
      shown.replaceChildren(...sentences.map((words, i) => {
        const a = shares(now.a[i]), line = element("p", "attn-strip"), distance = attn.jsd(a, shares(first.a[i]));
        line.append(element("b", "", `${side(now.p[i])}, p = ${now.p[i].toFixed(2)}`),
          element("small", "", now === first ? "" : `, JSD ${distance.toFixed(2)} to the first`), element("br", ""));
        words.forEach((word, t) => {
          const mark = element("span", "", word, { title: a[t].toFixed(3) });
          mark.style.setProperty("--w", a[t]);
          if (a[t] >= 0.095) mark.append(element("small", "", a[t].toFixed(2).slice(1)));
          line.append(mark, " ");
        });
        return line;
      }));
    }
    draw();
  }

  /* One sentence after each layer: a tile is what one piece would decide with all the attention.
     data-tiles: {pieces, models: {name: [a row a layer: {p: [], a: []}]}, layers: [names]}. */
  function tiles(root) {
    const { pieces, models, layers } = JSON.parse(root.dataset.tiles);
    let model = Object.keys(models)[0], at = [layers.length - 1, 0]; // layer and piece of the chosen tile
    const choices = buttons("attn-keys", "Network", Object.fromEntries(Object.keys(models).map(name => [name, name])), name => draw((model = name)));
    const [table, detail] = made(`<table class="attn-tiles" aria-label="Tiles: layers down, pieces across; arrow keys move"><thead><tr>
      <th scope="col">layer</th><th scope="col" class="count" aria-label="pieces that decide negative">−</th></tr></thead><tbody></tbody></table>
      <p class="attn-why" aria-live="polite"></p>`);
    const heading = (scope, ...inside) => {
      const cell = element("th", "", "", { scope });
      cell.append(...inside);
      return cell;
    };
    table.rows[0].lastElementChild.before(...pieces.map(piece => heading("col", element("span", "", piece))));
    const rows = layers.map(name => table.tBodies[0].insertRow());
    const cells = rows.map((row, layer) => {
      row.append(heading("row", layers[layer]));
      const keys = pieces.map((_, piece) => {
        const chosen = () => choose(layer, piece), key = element("button", "", "", { type: "button", onclick: chosen, onfocus: chosen });
        row.insertCell().append(key);
        return key;
      });
      row.insertCell().className = "count";
      return keys;
    });
    stepped(table, { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }, ([down, right]) =>
      cells[at[0] + down]?.[at[1] + right]?.focus());
    function choose(layer, piece) {
      cells[at[0]][at[1]].tabIndex = -1;
      at = [layer, piece];
      cells[layer][piece].tabIndex = 0;
      tell();
    }
    function tell() {
      const [layer, piece] = at, p = models[model].map(row => row.p[piece]), gets = models[model][layer].a[piece];
      detail.replaceChildren(element("b", "", `“${pieces[piece]}”`), ` after layer ${layers[layer]}: ${side(p[layer])}, p = ${p[layer].toFixed(2)}, with all the attention; it gets ${percent(gets)}. `
        + `Layer by layer: ${p.map(value => value.toFixed(2)).join(", ")}.`);
      cells.forEach((row, i) => row.forEach((key, j) => key.classList.toggle("chosen", i === layer && j === piece)));
      told(root, { p: p[layer], share: gets });
    }
    function draw() {
      cells.forEach((row, layer) => {
        const { p } = models[model][layer];
        row.forEach((key, piece) => {
          key.className = side(p[piece]);
          key.style.setProperty("--sure", Math.abs(2 * p[piece] - 1));
          key.textContent = p[piece] > 0.5 ? "+" : "−";
          key.ariaLabel = `${pieces[piece]}, layer ${layers[layer]}: ${side(p[piece])}, p = ${p[piece].toFixed(2)}`;
          key.tabIndex = layer === at[0] && piece === at[1] ? 0 : -1;
        });
        rows[layer].lastChild.textContent = p.filter(value => value <= 0.5).length;
      });
      choices.show(model);
      tell();
    }
    replace(root, choices, table, detail);
    draw();
  }

  const plays = { move, triangle, erase, strips, tiles };
  /* A second link for the keyboard, after the theme's to the page's text: to the first thing to play with. */
  function shortcut(root) {
    root.id ||= "attn-play";
    const [box] = made(`<div class="skip-link d-print-none"><a>Skip to the first element to play with</a></div>`);
    box.firstChild.href = `#${root.id}`;
    box.firstChild.onclick = event => {
      event.preventDefault();
      root.scrollIntoView();
      root.querySelector("button, input, [tabindex='0']")?.focus();
    };
    const first = document.querySelector(".skip-link");
    first ? first.after(box) : document.body.prepend(box);
  }
  function start() {
    const roots = document.querySelectorAll(".attn-play[data-play]");
    roots.forEach(root => plays[root.dataset.play](root));
    if (roots.length) shortcut(roots[0]);
  }
  document.addEventListener("DOMContentLoaded", start);
}
