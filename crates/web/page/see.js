// See: the reader's sentence, step by step through the model (paper §3 and §6.1).

import { treeOf } from "./beam.js";
import { bars, curves, heat, make, number, shown } from "./draw.js";
import { cached, filesOf } from "./files.js";
import { finished, picture } from "./tree.js";
import { word } from "./words.js";

const PAUSE = 300;
/** The positions that are drawn as waves. */
const PLACES = 50;
const KINDS = ["encoder", "decoder", "cross"];
/** The names of the attentions among the parameters of the model. */
const NAMES = { encoder: "encoder.layers.{}.self_attention", decoder: "decoder.layers.{}.self_attention", cross: "decoder.layers.{}.cross_attention" };
const $ = (id) => document.getElementById(id);

/** The choices of the reader. */
const state = { kind: "cross", layer: 0, head: 0, side: 0, position: 0, step: 0, grown: 0, off: new Set() };
let engine, seen, tree, before, pause, growing;
let running = 0;

/** Starts the part with a worker and the models beside the page. */
export async function see(worker, models) {
  engine = worker;
  models.forEach((name) => $("model").add(new Option(word(name), name)));
  $("model").addEventListener("change", () => open(new URL(`models/${$("model").value}/`, document.baseURI)));
  $("folder").addEventListener("change", () => $("folder").files.length && open([...$("folder").files]));
  ["sentence", "beam", "alpha", "temperature"].forEach((id) => $(id).addEventListener("input", soon));
  $("step").addEventListener("input", () => softmax((state.step = Number($("step").value))));
  $("grown").addEventListener("input", () => grow(Number($("grown").value)));
  $("play").addEventListener("click", play);
  $("off").addEventListener("change", () => turn(key(state.layer, state.head), $("off").checked));
  $("on").addEventListener("click", () => (state.off.clear(), run()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => seen && show());
  await open(new URL(`models/${models[0]}/`, document.baseURI));
}

function say(text, isError = false) {
  $("status").textContent = text;
  $("status").classList.toggle("error", isError);
}

async function open(source) {
  say(word("loading"));
  state.off.clear();
  try {
    await engine.call("open", await filesOf(source, { cache: cached() }));
    before = null;
    await run();
  } catch (error) {
    say(error.message, true);
  }
}

function soon() {
  const values = ["beam", "alpha", "temperature"].map((id) => [id, $(id).value]);
  values.forEach(([id, value]) => ($(`${id}-value`).textContent = value));
  clearTimeout(pause);
  pause = setTimeout(run, PAUSE);
}

const key = (layer, head, kind = state.kind) => `${kind}.${layer}.${head}`;

/** The columns of the output projections that read the heads which are off. */
function off() {
  const all = {};
  for (const [kind, layer, head] of [...state.off].map((it) => it.split("."))) {
    const width = seen.config.d_v * seen.config.heads / headsOf(kind);
    const name = `${NAMES[kind].replace("{}", layer)}.output.weight`;
    (all[name] ??= []).push([width * head, width * (Number(head) + 1)]);
  }
  return all;
}

const headsOf = (kind) => seen.tables[kind][0].length;

async function run() {
  const [text, number, start] = [$("sentence").value, ++running, performance.now()];
  const temperature = Number($("temperature").value);
  const search = { beam_size: Number($("beam").value), length_penalty: { gnmt: Number($("alpha").value) } };
  try {
    const found = await engine.call("see", { text, question: { search, off: off(), temperature } });
    if (number !== running) return;
    const heads = state.off.size > 0;
    if (!heads) before = found.text;
    seen = found;
    tree = treeOf(seen);
    $("translation").textContent = seen.text;
    $("before").textContent = heads && before !== seen.text ? word("was", { text: before }) : "";
    Object.assign(state, { step: 0, position: 0, side: 0, grown: seen.steps.length });
    show();
    say(word("seen", { seconds: ((performance.now() - start) / 1000).toFixed(2) }));
    const sampling = { temperature, seed: 1 };
    const drawn = await engine.call("translate", { text, options: { sampling, n_best: 3 } });
    if (number === running) $("drawn").textContent = word("drawn", { texts: drawn.alternatives.map((it) => it.text).join(" | ") });
  } catch (error) {
    if (number === running) say(error.message, true);
  }
}

/** The pieces of a side: of the source, or of the decoder's input. */
const inputs = (side) => (side ? [seen.config.bos, ...seen.tokens.slice(0, -1)].map((id, i) => (i ? seen.pieces[id] : "<s>")) : seen.source).map(shown);
const outputs = () => seen.tokens.map((id) => shown(seen.pieces[id]));

function show() {
  tokens();
  embedding();
  attention();
  residual();
  $("step").max = seen.steps.length - 1;
  $("step").value = state.step;
  softmax();
  clearInterval(growing);
  $("grown").max = seen.steps.length;
  grow(state.grown);
}

function tokens() {
  const chips = (side, pieces) => pieces.map((piece, position) => make("button", {
    type: "button", className: "chip", "aria-pressed": state.side === side && state.position === position,
    onclick: () => {
      Object.assign(state, { side, position });
      [tokens, embedding, attention, residual].forEach((part) => part());
      $(side ? "target-chips" : "source-chips").children[position].focus();
    },
  }, piece));
  $("source-chips").replaceChildren(...chips(0, inputs(0)));
  $("target-chips").replaceChildren(...chips(1, inputs(1)));
}

/** One number of the positions that the paper adds. */
const sinusoid = (position, feature, d) => (feature % 2 ? Math.cos : Math.sin)(position / 10000 ** ((feature - (feature % 2)) / d));

function embedding() {
  const { config, tables } = seen;
  const [d, sums] = [config.d_model, tables.embedded[state.side].map((row) => row.map((value) => value / 1000))];
  const isPapers = config.positions === "sinusoidal" && !config.conventions;
  $("embedding-text").textContent = word(isPapers ? "embedding-text" : "embedding-none", { d });
  const places = sums.map((row, position) => row.map((_, feature) => sinusoid(position, feature, d)));
  const maps = isPapers
    ? [["embedding-e", sums.map((row, p) => row.map((value, i) => value - places[p][i]))], ["embedding-p", places], ["embedding-x", sums]]
    : [["embedding-x", sums]];
  $("maps").replaceChildren(...maps.map(([name, rows]) => make("figure", {}, make("figcaption", {}, word(name, { d })), heat(rows, word(name, { d })))));
  $("places").replaceChildren(...(isPapers ? waves(d) : []));
  const size = (row) => Math.sqrt(row.reduce((sum, value) => sum + value * value, 0) / row.length);
  const sizes = maps.map(([name, rows]) => [word(name, { d }), size(rows[state.position])]);
  $("embedding-sizes").replaceChildren(bars(sizes, Math.max(...sizes.map(([, value]) => value))));
  const p = state.position;
  $("embedding-formula").textContent = isPapers
    ? `E·√d + PE,  √${d} = ${number(Math.sqrt(d), 2)};  PE(pos, 2i) = sin(pos / 10000^(2i/${d}));  PE(${p}, 0) = sin(${p}) = ${number(sinusoid(p, 0, d))},  PE(${p}, 1) = cos(${p}) = ${number(sinusoid(p, 1, d))}`
    : "";
}

/** The positions of the paper: some features as curves, and which positions are alike. */
function waves(d) {
  const positions = [...Array(PLACES).keys()];
  const features = [0, d / 16, d / 8, d / 4].map((feature) => 2 * Math.floor(feature / 2));
  const lines = features.map((feature) => positions.map((p) => [p, sinusoid(p, feature, d)]));
  const rows = positions.map((p) => Array.from({ length: d }, (_, feature) => sinusoid(p, feature, d)));
  const alike = rows.map((a) => rows.map((b) => (2 / d) * dot(a, b)));
  const [of, like] = [word("embedding-curves", { features: features.join(", ") }), word("embedding-alike", { count: PLACES })];
  return [[of, curves(lines, of)], [like, heat(alike, like)]].map(([name, drawn]) => make("figure", {}, make("figcaption", {}, name), drawn));
}

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

function turn(name, isOff) {
  if (isOff) state.off.add(name);
  else state.off.delete(name);
  run();
}

function attention() {
  const layers = seen.tables[state.kind];
  state.layer = Math.min(state.layer, layers.length - 1);
  state.head = Math.min(state.head, layers[0].length - 1);
  const choose = (change, id) => {
    Object.assign(state, change);
    attention();
    $(id).querySelector("[aria-pressed=true], :checked")?.focus();
  };
  $("kinds").replaceChildren(...KINDS.filter((kind) => seen.tables[kind].length).map((kind) => make("label", {},
    make("input", { type: "radio", name: "kind", value: kind, checked: state.kind === kind, onchange: () => choose({ kind }, "kinds") }), ` ${word(kind)}`)));
  const [queries, keys] = { encoder: [inputs(0), inputs(0)], decoder: [inputs(1), inputs(1)], cross: [outputs(), inputs(0)] }[state.kind];
  const rowsOf = (values) => queries.map((_, q) => values.slice(q * keys.length, (q + 1) * keys.length).map((value) => value / 1000));
  $("head-grid").style.setProperty("--heads", layers[0].length);
  $("head-grid").replaceChildren(...layers.flatMap((heads, layer) => heads.map((values, head) => {
    const [name, isOff] = [word("head", { layer: layer + 1, head: head + 1 }), state.off.has(key(layer, head))];
    return make("button", {
      type: "button", className: isOff ? "head off" : "head", "aria-label": isOff ? `${name}, ${word("head-off")}` : name,
      "aria-pressed": layer === state.layer && head === state.head, onclick: () => choose({ layer, head }, "head-grid"),
    }, heat(rowsOf(values), ""), `${layer + 1}.${head + 1}`);
  })));
  $("off").checked = state.off.has(key(state.layer, state.head));
  $("on").hidden = !state.off.size;
  const rows = rowsOf(layers[state.layer][state.head]);
  $("map-title").textContent = word("head", { layer: state.layer + 1, head: state.head + 1 });
  $("map").replaceChildren(
    make("thead", {}, make("tr", {}, make("td"), ...keys.map((piece) => make("th", { scope: "col" }, make("span", {}, piece))))),
    make("tbody", {}, ...rows.map((row, q) => make("tr", {}, make("th", { scope: "row" }, queries[q]), ...row.map((weight, k) => cell(queries[q], keys[k], weight, state.kind === "decoder" && k > q))))));
  $("masked").hidden = state.kind !== "decoder";
  const { d_k: width } = seen.config;
  const query = Math.min(state.position, queries.length - 1);
  neurons(query, queries[query], keys, rows[query]);
  const most = rows[query].map((weight, k) => [weight, keys[k]]).sort((a, b) => b[0] - a[0]).slice(0, 3);
  $("attention-formula").textContent = `softmax(q·kᵀ / √d_k)·V,  √${width} = ${number(Math.sqrt(width), 2)};  q = “${queries[query]}”: ${most.map(([weight, piece]) => `${piece} ${number(weight)}`).join(",  ")}`;
}

/** From the chosen query to its weights: the query times each key, feature by feature, and their sums. */
function neurons(position, name, pieces, weights) {
  const [queries, keys] = seen.tables.compared[state.kind][state.layer].map((heads) => heads[state.head]);
  const width = keys.length / pieces.length;
  const row = (values, i) => values.slice(i * width, (i + 1) * width).map((value) => value / 1000);
  const q = row(queries, position);
  const all = pieces.map((_, k) => row(keys, k));
  const products = all.map((key) => key.map((value, i) => value * q[i]));
  const drawn = [["q", [q]], ["k", all], ["q × k", products]].map(([title, values]) => {
    const most = Math.max(...values.flat().map(Math.abs), 1e-9);
    return make("figure", {}, make("figcaption", {}, title), heat(values.map((line) => line.map((value) => value / most)), `${title}: ${name}`));
  });
  $("neurons").replaceChildren(...drawn);
  $("neurons-text").textContent = word("neurons-text", { query: name, width });
  const isHidden = (k) => state.kind === "decoder" && k > position;
  $("scores").replaceChildren(
    make("thead", {}, make("tr", {}, ...["k", "q·k", `q·k / √${width}`, "softmax"].map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", {}, ...pieces.map((piece, k) => {
      const sum = dot(q, all[k]);
      return make("tr", {}, make("th", { scope: "row" }, piece), make("td", {}, number(sum, 2)), make("td", {}, isHidden(k) ? "−∞" : number(sum / Math.sqrt(width), 2)), make("td", {}, number(weights[k], 2)));
    })));
}

function cell(query, key, weight, isMasked) {
  const label = word("looks", { query, key, weight: number(weight) });
  const td = make("td", { title: label, className: isMasked ? "masked" : weight > 0.5 ? "dark" : "" }, weight >= 0.05 ? weight.toFixed(2).slice(1) || "1" : "");
  if (weight >= 0.995) td.textContent = "1";
  td.style.setProperty("--w", weight);
  return td;
}

function residual() {
  const isPre = seen.config.norm === "pre";
  const names = (side) => (side ? ["self", "cross", "ffn"] : ["self", "ffn"]);
  const rows = seen.tables.sizes[state.side].map(([x, f], i) => {
    const kinds = names(state.side);
    const layer = Math.floor(i / kinds.length) + 1;
    const name = kinds[i % kinds.length] === "cross" ? word("cross").split(/[:：]/)[0] : word(kinds[i % kinds.length]);
    return [`${layer}. ${name}`, x[state.position] / 1000, f[state.position] / 1000];
  });
  $("sizes").replaceChildren(
    make("thead", {}, make("tr", {}, ...[word("sublayer"), "x", "f"].map((name) => make("th", { scope: "col" }, name)))),
    bars(rows, Math.max(...rows.flatMap(([, ...values]) => values))));
  const [[, x, f], [, next]] = rows;
  $("residual-formula").textContent = `${isPre ? "x + f(LayerNorm(x))" : "LayerNorm(x + f(x))"};  “${inputs(state.side)[state.position]}”: |x| = ${number(x)}, |f| = ${number(f)} → ${number(next)}`;
  const { d_model: d, d_ff: wide, activation } = seen.config;
  const bend = activation === "relu" ? "max(0, x·W₁ + b₁)" : `${activation}(x·W₁ + b₁)`;
  $("ffn-formula").textContent = `FFN(x) = ${bend}·W₂ + b₂,  ${d} → ${wide} → ${d};  |FFN| = ${number(rows.at(-1)[2])}`;
}

function softmax() {
  const { steps, tokens, pieces, config } = seen;
  const [chain, t] = [tree[Math.min(state.step, tree.length - 1)], Number($("temperature").value)];
  const row = bestRow(state.step);
  const candidates = steps[state.step].candidates[row] ?? steps[state.step].candidates[0];
  $("softmax-text").textContent = word("softmax-text", { vocab: config.target_vocab });
  $("step-value").textContent = `${state.step + 1} / ${steps.length}`;
  $("prefix").textContent = chain && word("after", { prefix: tokens.slice(0, state.step).map((id) => shown(pieces[id])).join("") || "<s>" });
  const rows = candidates.slice(0, 10).map(([id, logProb, tempered]) => [shown(pieces[id]), Math.exp(logProb), tempered]);
  $("likeliest").replaceChildren(
    make("thead", {}, make("tr", {}, ...["", "T = 1", `T = ${t}`].map((name) => make("th", { scope: "col" }, name)))), bars(rows, 1));
  const [name, p] = rows[0];
  $("softmax-formula").textContent = `p = exp(z / T) / Σ exp(z / T);  p(${name}) = ${number(p)},  log p = ${number(Math.log(p))}`;
}

/** The row of the translation in a step of the search. */
function bestRow(step) {
  let row = 0;
  for (let i = 1; i <= step; i++) {
    const next = seen.steps[i].rows.findIndex(([from, token]) => from === row && token === seen.tokens[i - 1]);
    if (next < 0) return 0;
    row = next;
  }
  return row;
}

function grow(count) {
  state.grown = count;
  $("grown").value = count;
  $("grown-value").textContent = `${count} / ${seen.steps.length}`;
  const k = seen.search.beam_size;
  $("tree-text").textContent = word("tree-text", { k, two: k === 1 ? 1 : 2 * k });
  $("tree").replaceChildren(picture(tree, count));
  $("finished").replaceChildren(finished(tree, count));
  const [n, alpha] = [seen.tokens.length, seen.search.length_penalty.gnmt];
  const lp = seen.divisors[n - 1];
  $("tree-formula").textContent = `log P / lp,  lp = ((5 + n) / 6)^α;  n = ${n}, α = ${alpha}: lp = ${number(lp)};  ${number(seen.score * lp)} / ${number(lp)} = ${number(seen.score)}`;
}

function play() {
  clearInterval(growing);
  grow(0);
  growing = setInterval(() => {
    if (state.grown >= seen.steps.length) return clearInterval(growing);
    grow(state.grown + 1);
    $("tree").scrollLeft = state.grown * 112 - $("tree").clientWidth + 240;
  }, 500);
}
