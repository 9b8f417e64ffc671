// What the model computed for the reader's sentence, and what the parts of the page read from it.

import { shown } from "./draw.js";
import { POSITIONS } from "./state.js";

/**
 * The answer of the module, the answer with all parts on, the tree of its search, the worker, and the parameters that were read.
 */
export const view = { seen: null, whole: null, tree: null, engine: null, parameters: new Map() };

/** The names of the attentions among the parameters of the model. */
const NAMES = { encoder: "encoder.layers.{}.self_attention", decoder: "decoder.layers.{}.self_attention", cross: "decoder.layers.{}.cross_attention" };

/** The name of an attention among the parameters. */
export const nameOf = (kind, layer) => NAMES[kind].replace("{}", layer);

/** The pieces of a side: of the source, or of the decoder's input. */
export function inputs(side) {
  const { config, tokens, pieces, source } = view.seen;
  const read = [config.bos, ...tokens.slice(0, -1)].map((id, i) => (i ? pieces[id] : "<s>"));
  return (side ? read : source).map(shown);
}

/** The pieces of the translation. */
export const outputs = () => view.seen.tokens.map((id) => shown(view.seen.pieces[id]));

/** The positions of the decoder, by the piece that each reads and the piece that it writes. */
export function readAndWritten(read, written) {
  return read.map((piece, i) => `${piece} → ${written[i]}`);
}

/** The pieces that ask and those that are looked at, in an attention of this kind. */
export function piecesOf(kind) {
  if (kind === "encoder") return [inputs(0), inputs(0)];
  if (kind === "decoder") return [inputs(1), inputs(1)];
  return [readAndWritten(inputs(1), outputs()), inputs(0)];
}

/** How many heads the attentions of a kind have. */
export const headsOf = (kind) => view.seen.tables[kind][0].length;

/** Whether the decoder looks at its own pieces by attention; students of Marian have a recurrent unit there. */
export const hasDecoderAttention = () => view.seen.tables.decoder.length > 0;

/** Row `i` of a table of thousandths that has `width` numbers in a row. */
export const rowOf = (values, i, width) => values.slice(i * width, (i + 1) * width).map((value) => value / 1000);

/** The terms of a residual connection at a position: what passes by, and what the sub-layer adds. */
export function termsOf(side, sublayer, position) {
  return view.seen.tables.residuals[side][sublayer].map((rows) => rows[position].map((value) => value / 1000));
}

/** Whether the model has a head of this name. */
export function hasHead(name) {
  const [kind, layer, head] = name.split(".");
  return Boolean(view.seen.tables[kind]?.[layer]?.[head]);
}

/** The name of a feed-forward network among the parameters. */
export const networkParameter = (side, layer) => `${side ? "decoder" : "encoder"}.layers.${layer}.feed_forward`;

/** The hidden units of the feed-forward networks of a side; those of imported models may differ. */
export function networkWidth(side) {
  const { d_ff: width, conventions } = view.seen.config;
  return (side && conventions?.decoder_d_ff) || width;
}

/** Whether the model has a feed-forward network of this name. */
export function hasNetwork(name) {
  const [, side, layer] = name.split(".").map(Number);
  const { residuals } = view.seen.tables;
  return layer < residuals[side].length / (side ? 3 : 2);
}

/**
 * What is off, as the module takes it: the columns of the output projections that read these heads, the last layers of these
 * feed-forward networks, and the positions.
 */
export function offOf(names) {
  const { config } = view.seen;
  const columns = {};
  for (const [kind, layer, head] of names.filter(hasHead).map((name) => name.split("."))) {
    const width = (config.d_v * config.heads) / headsOf(kind);
    const name = `${nameOf(kind, layer)}.output.weight`;
    (columns[name] ??= []).push([width * head, width * (Number(head) + 1)]);
    // Without its heads, an attention adds nothing at all.
    if (columns[name].length === headsOf(kind)) columns[`${nameOf(kind, layer)}.output.bias`] = [[0, config.d_model]];
  }
  for (const [, side, layer] of names.filter((name) => name.startsWith("ffn.")).map((name) => name.split("."))) {
    const name = networkParameter(Number(side), layer);
    columns[`${name}.outer.weight`] = [[0, networkWidth(Number(side))]];
    columns[`${name}.outer.bias`] = [[0, config.d_model]];
  }
  return { columns, positions: names.includes(POSITIONS) };
}

/** The numbers of a parameter of the model, or null if it has none of this name. */
export function parameter(name) {
  const { parameters, engine } = view;
  if (!parameters.has(name)) parameters.set(name, engine.call("parameter", name).catch(() => null));
  return parameters.get(name);
}

export const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

/** The root mean square of some numbers. */
export const size = (values) => Math.sqrt(dot(values, values) / values.length);

/** The softmax of scores, of which −∞ are hidden. */
export function softmaxOf(scores) {
  const most = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

/** Matrix times vector: `rows` has the rows of the matrix one after another. */
export function times(rows, values, bias) {
  const width = values.length;
  return Array.from({ length: rows.length / width }, (_, row) => {
    let sum = bias?.[row] ?? 0;
    for (let i = 0; i < width; i++) sum += rows[row * width + i] * values[i];
    return sum;
  });
}
