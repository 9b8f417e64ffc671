// Attention: weights, from queries and keys to them, and from them to the output (paper §3.2).

import { bars, heat, make, named, number, range } from "./draw.js";
import { KINDS, headName, headsOff, state } from "./state.js";
import { dot, headsOf, inputs, nameOf, parameter, piecesOf, rowOf, size, softmaxOf, termsOf, times, view } from "./view.js";
import { word } from "./words.js";

const $ = (id) => document.getElementById(id);
/** How often the values were drawn. Only the last drawing is finished when its parameters come. */
let valuesDrawn = 0;

/** What the chosen head computes for the chosen piece: the query's place, its weights, and q, k and v of all pieces. */
export function chosen({ kind, layer, head, piece } = state) {
  const [queries, keys] = piecesOf(kind);
  const query = Math.min(piece, queries.length - 1);
  const weights = rowOf(view.seen.tables[kind][layer][head], query, keys.length);
  const [q, k, v] = view.seen.tables.projections[kind][layer].map((heads) => heads[head]);
  const widths = [q.length / queries.length, k.length / keys.length, v.length / keys.length];
  const rows = (values, width) => keys.map((_, i) => rowOf(values, i, width));
  return { queries, keys, query, weights, q: rowOf(q, query, widths[0]), k: rows(k, widths[1]), v: rows(v, widths[2]) };
}

/** Whether the mask hides key `k` from query `q`. */
export const isHidden = (q, k, kind = state.kind) => kind === "decoder" && k > q;

/** Keeps the choices among the layers and heads that the model has. */
export function clampHead() {
  const kinds = KINDS.filter((kind) => view.seen.tables[kind].length);
  if (!kinds.includes(state.kind)) state.kind = kinds.at(-1);
  const layers = view.seen.tables[state.kind];
  state.layer = Math.min(state.layer, layers.length - 1);
  state.head = Math.min(state.head, layers[0].length - 1);
}

/** Draws the attention; `choose` is called with changes of the choices. */
export function attention(choose) {
  clampHead();
  const pick = (change, id) => {
    choose(change);
    $(id).querySelector("[aria-pressed=true], :checked")?.focus();
  };
  $("kinds").replaceChildren(...KINDS.filter((kind) => view.seen.tables[kind].length).map((kind) => make("label", {},
    make("input", { type: "radio", name: "kind", value: kind, checked: state.kind === kind, onchange: () => pick({ kind }, "kinds") }), ` ${word(kind)}`)));
  grid(pick);
  lookedAt();
  map();
  const { keys, queries, query, weights, q } = chosen();
  const seen = weights.map((weight, k) => [weight, keys[k]]).filter((_, k) => !isHidden(query, k));
  const most = seen.sort((a, b) => b[0] - a[0]).slice(0, 3).map(([weight, piece]) => `${piece} ${number(weight)}`);
  const rest = seen.slice(3).reduce((sum, [weight]) => sum + weight, 0);
  const hidden = keys.length - seen.length;
  const parts = [...most, ...(seen.length > 3 ? [`${word("others")} ${number(rest)}`] : []), ...(hidden ? [word("hidden", { count: hidden })] : [])];
  $("attention-formula").textContent = `softmax(q·kᵀ / √d_k),  √${q.length} = ${number(Math.sqrt(q.length), 2)};  q = “${queries[query]}”: ${parts.join(",  ")};  Σ = ${number(weights.reduce((sum, weight) => sum + weight, 0), 2)}`;
  scores();
  values();
}

/** The maps of all heads, each a button. */
function grid(pick) {
  const layers = view.seen.tables[state.kind];
  const [queries, keys] = piecesOf(state.kind);
  $("head-grid").style.setProperty("--heads", layers[0].length);
  $("head-grid").replaceChildren(...layers.flatMap((heads, layer) => heads.map((values, head) => {
    const short = `${layer + 1}.${head + 1}`;
    const name = `${short}: ${word("head", { layer: layer + 1, head: head + 1 })}`;
    const isOff = state.off.has(headName(state.kind, layer, head));
    const rows = queries.map((_, q) => rowOf(values, q, keys.length));
    return make("button", {
      type: "button", className: isOff ? "head off" : "head", "aria-label": isOff ? `${name}, ${word("head-off")}` : name,
      "aria-pressed": layer === state.layer && head === state.head, onclick: () => pick({ layer, head }, "head-grid"),
    }, heat(rows, ""), short);
  })));
}

/** Fixed places of the keys, by name, that a head may look at from a query. */
function placesOf(kind, end) {
  const near = { before: (q) => q - 1, itself: (q) => q };
  return { encoder: { ...near, after: (q) => q + 1, end: () => end }, decoder: { ...near, start: () => 0 }, cross: { end: () => end } }[kind];
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);

/** The fixed place that a head looks at most, its mean weight, and where it is; null if the mean is less than half of that of the largest weights. */
function habitOf(kind, rows) {
  const places = Object.entries(placesOf(kind, rows[0].length - 1)).map(([name, place]) =>
    ({ name, place, weight: mean(rows.map((row, q) => row[place(q)]).filter((weight) => weight !== undefined)) }));
  const [habit] = places.sort((a, b) => b.weight - a.weight);
  return 2 * habit.weight >= mean(rows.map((row) => Math.max(...row))) ? habit : null;
}

/** The pairs of a query and a key with the largest weights, each piece once; without the habit of the head, and without a query that has no choice. */
function pairsOf(kind, rows, habit) {
  const isOpen = (q) => kind !== "decoder" || q > 0;
  const all = rows.flatMap((row, query) => row.map((weight, key) => ({ query, key, weight })))
    .filter(({ query, key }) => isOpen(query) && habit?.place(query) !== key).sort((a, b) => b.weight - a.weight);
  const [first] = all;
  const second = all.find(({ query, key }) => query !== first.query && key !== first.key);
  return [first, second].filter(Boolean);
}

/** Says where each head of the chosen layer looks: several heads, several relations (§3.2.2). */
function lookedAt() {
  const { kind, layer } = state;
  const [queries, keys] = piecesOf(kind);
  $("places-title").textContent = word("places-title", { layer: layer + 1 });
  $("places-looked-at").replaceChildren(...view.seen.tables[kind][layer].map((values, head) => {
    const rows = queries.map((_, q) => rowOf(values, q, keys.length));
    const habit = habitOf(kind, rows);
    const pairs = pairsOf(kind, rows, habit).map(({ query, key, weight }) => `“${queries[query]}” → “${keys[key]}” ${number(weight, 2)}`).join(", ");
    const looks = habit ? word("looks-most", { place: word(`place-${habit.name}`), weight: number(habit.weight, 2), pairs }) : pairs;
    return make("li", {}, `${word("head-short", { head: head + 1 })}: ${looks}`);
  }));
}

/** The encoder's layer and piece whose heads look at the most different pieces, and among those most clearly. */
export function mostDifferent() {
  const places = view.seen.tables.encoder.flatMap((_, layer) => inputs(0).map((_, piece) => ({ kind: "encoder", layer, head: 0, side: 0, piece })));
  const value = (at) => {
    const found = Array.from({ length: headsOf("encoder") }, (_, head) => strongest({ ...at, head }));
    return new Set(found.map(({ place }) => place)).size + mean(found.map(({ weight }) => weight));
  };
  return places.map((at) => [value(at), at]).sort((a, b) => b[0] - a[0])[0][1];
}

/** The weights of the chosen head as a table. */
function map() {
  const { kind, layer, head } = state;
  const [queries, keys] = piecesOf(kind);
  const values = view.seen.tables[kind][layer][head];
  $("off").checked = state.off.has(headName(kind, layer, head));
  $("on").hidden = !headsOff().length;
  $("map-title").textContent = word("head", { layer: layer + 1, head: head + 1 });
  $("map").replaceChildren(
    make("thead", {}, make("tr", {}, make("td"), ...keys.map((piece) => make("th", { scope: "col" }, make("span", {}, piece))))),
    make("tbody", {}, ...queries.map((query, q) => make("tr", {}, make("th", { scope: "row" }, query),
      ...rowOf(values, q, keys.length).map((weight, k) => cell(query, keys[k], weight, isHidden(q, k)))))));
  $("masked").hidden = kind !== "decoder";
  $("read-written").hidden = kind !== "cross";
}

function cell(query, key, weight, isMasked) {
  const label = word("looks", { query, key, weight: number(weight) });
  const text = weight >= 0.995 ? "1" : weight.toFixed(2).slice(1);
  const td = make("td", { title: label, className: isMasked ? "masked" : "" }, isMasked ? "" : weight < 0.005 ? "0" : text);
  td.style.setProperty("--w", weight);
  return td;
}

/** From the chosen query to its weights: the query times each key, feature by feature, and their sums. */
function scores() {
  const { keys, queries, query, weights, q, k } = chosen();
  const name = queries[query];
  const products = k.map((key) => key.map((value, i) => value * q[i]));
  $("neurons").replaceChildren(named("q", [q], [name]), named("k", k, keys), named("q × k", products, keys));
  $("neurons-text").textContent = word("neurons-text", { query: name, width: q.length });
  const sums = k.map((key) => dot(q, key));
  const bare = bareWeights();
  const titles = ["k", "q·k", `q·k / √${q.length}`, word("softmax"), word("without-scale")];
  const rows = keys.map((piece, i) => {
    const score = isHidden(query, i) ? "−∞" : number(sums[i] / Math.sqrt(q.length), 2);
    const texts = [number(sums[i], 2), score, number(weights[i]), number(bare[i])];
    return make("tr", {}, make("th", { scope: "row" }, piece), ...texts.map((text) => make("td", {}, text)));
  });
  $("scores").replaceChildren(
    make("thead", {}, make("tr", {}, ...titles.map((title) => make("th", { scope: "col" }, title)))), make("tbody", {}, ...rows));
}

/** The weighted sums of all heads of the chosen layer for the chosen piece, side by side; heads that are off are zeros. */
export function joined() {
  const { kind, layer } = state;
  const [, keys] = piecesOf(kind);
  const { query } = chosen();
  const heads = view.seen.tables.projections[kind][layer][2];
  return heads.map((values, head) => {
    const width = values.length / keys.length;
    const weights = rowOf(view.seen.tables[kind][layer][head], query, keys.length);
    const isOff = state.off.has(headName(kind, layer, head));
    const sum = Array(width).fill(0);
    keys.forEach((_, k) => rowOf(values, k, width).forEach((value, i) => (sum[i] += isOff ? 0 : weights[k] * value)));
    return sum;
  });
}

/** What the chosen attention adds to the residual connection at the chosen piece, as the model computed it. */
export function outputOf() {
  const { kind, layer } = state;
  const sublayer = kind === "encoder" ? 2 * layer : 3 * layer + (kind === "cross" ? 1 : 0);
  return termsOf(kind === "encoder" ? 0 : 1, sublayer, chosen().query)[1];
}

/** From the weights to the output: the weighted values, the heads side by side, and their product with W_O. */
async function values() {
  const drawing = ++valuesDrawn;
  const { kind, layer, head } = state;
  const { keys, queries, query, weights, v } = chosen();
  const all = joined();
  const most = range(v);
  const weighted = v.map((row, k) => row.map((value) => value * weights[k]));
  $("values-text").textContent = word("values-text", { query: queries[query], heads: all.length, width: v[0].length, all: all.flat().length });
  const names = all.map((_, i) => word("head-short", { head: i + 1 }));
  $("values").replaceChildren(
    named("V", v, keys, { most }), named(word("values-weighted"), weighted, keys.map((key, k) => `${key} ${number(weights[k], 2)}`), { most }),
    named(word("values-sum"), [all[head]], [names[head]], { most }), named(word("values-joined"), all, names));
  const name = nameOf(kind, layer);
  const [matrix, bias] = await Promise.all([parameter(`${name}.output.weight`), parameter(`${name}.output.bias`)]);
  if (!matrix || drawing !== valuesDrawn) return;
  const output = times(matrix, all.flat(), bias);
  const found = outputOf();
  const apart = Math.max(...output.map((value, i) => Math.abs(value - found[i])));
  $("values").append(named(word("values-output"), [output], [queries[query]]));
  const parts = all.map((own, i) => [names[i], size(times(matrix, all.flatMap((other) => (other === own ? own : other.map(() => 0)))))]);
  $("values-heads").replaceChildren(bars(parts, Math.max(...parts.map(([, value]) => value), 1e-9)));
  $("values-formula").textContent = `Concat(head₁ … head_${all.length})·W_O + b = f;  |f| = ${number(size(output))};  ${word("values-apart", { apart: number(apart) })}`;
}

/** How many weights the mask hides for the pieces of the translation. */
export function hiddenCount() {
  const n = inputs(1).length;
  return (n * (n - 1)) / 2;
}

/** What the weights of a query would be without the division by √d_k. */
export function bareWeights(at = state) {
  const { q, k, query } = chosen(at);
  return softmaxOf(k.map((key, i) => (isHidden(query, i, at.kind) ? -Infinity : dot(q, key))));
}

/** The encoder's head that looks most from the piece `from` at the piece `to`, with its weight; undefined if a piece is missing. */
export function looking(from, to) {
  const pieces = inputs(0);
  const [query, key] = [from, to].map((piece) => pieces.indexOf(piece));
  if (query < 0 || key < 0) return undefined;
  const all = view.seen.tables.encoder.flatMap((heads, layer) => heads.map((values, head) =>
    ({ layer, head, query, weight: rowOf(values, query, pieces.length)[key] })));
  return all.sort((a, b) => b.weight - a.weight)[0];
}

/** The head and the piece of a kind whose largest weight the division by √d_k changes most. */
export function mostScaled(kind) {
  const side = kind === "encoder" ? 0 : 1;
  const places = everyHead().filter((head) => head.kind === kind)
    .flatMap((head) => inputs(side).map((_, piece) => ({ ...head, side, piece })));
  const change = (at) => {
    const { weights } = chosen(at);
    const best = weights.indexOf(Math.max(...weights));
    return bareWeights(at)[best] - weights[best];
  };
  return places.map((at) => [change(at), at]).sort((a, b) => b[0] - a[0])[0][1];
}

/** The largest weight of a head for a piece, the chosen ones if nothing is given, and the piece that has it. */
export function strongest(at = state) {
  const { weights, keys } = chosen(at);
  const weight = Math.max(...weights);
  const place = weights.indexOf(weight);
  return { weight, place, key: keys[place] };
}

/** All heads of the model, by kind, layer and head. */
export function everyHead() {
  return KINDS.flatMap((kind) => view.seen.tables[kind].flatMap((heads, layer) => heads.map((_, head) => ({ kind, layer, head }))));
}

/** The heads of a layer of the chosen kind. */
export const ofLayer = (layer) => Array.from({ length: headsOf(state.kind) }, (_, head) => headName(state.kind, layer, head));
