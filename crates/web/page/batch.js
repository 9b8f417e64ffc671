// A batch of the reader's sentence and an example: the mask hides the padding of the shorter one.

import { make, number, shown } from "./draw.js";
import { exampleBeside } from "./examples.js";
import { state } from "./state.js";
import { rowOf, view } from "./view.js";
import { word } from "./words.js";

const $ = (id) => document.getElementById(id);
/** The layer of the encoder whose weights are shown. */
const LAYER = 0;
/** The head of this layer. */
const HEAD = 0;

/** Draws the batch once the reader opens its part, for the attentions whose keys are pieces of the source. */
export async function batch() {
  const { seen, whole } = view;
  const other = exampleBeside($("model").value, whole.text);
  const isShown = state.kind !== "decoder" && other !== undefined;
  $("batch-set").hidden = !isShown;
  if (!isShown || !$("batch-set").open) return;
  const beside = await view.engine.call("pieces", other);
  const sides = [{ text: whole.text, pieces: whole.found.source }, { text: other, pieces: beside }];
  const length = Math.max(...sides.map(({ pieces }) => pieces.length));
  const [shorter, longer] = [...sides].sort((a, b) => a.pieces.length - b.pieces.length);
  const weightsBeside = (text) => view.engine.call("padded", [shorter.text, text]);
  const alone = await weightsBeside(shorter.text);
  const padded = await weightsBeside(longer.text);
  if (seen !== view.seen) return;
  $("batch").replaceChildren(make("tbody", {}, ...sides.map(({ pieces }) => make("tr", {}, ...Array.from({ length }, (_, i) =>
    (i < pieces.length ? make("td", {}, shown(pieces[i])) : make("td", { className: "masked" }, "<pad>")))))));
  const count = shorter.pieces.length;
  const query = Math.min(state.piece, count - 1);
  const [own, all] = [[alone, count], [padded, length]].map(([tables, width]) => rowOf(tables[LAYER][HEAD], query, width));
  const names = [...shorter.pieces.map(shown), ...Array(length - count).fill("<pad>")];
  $("batch-weights").textContent = word("batch-weights", {
    query: names[query], head: word("head", { layer: LAYER + 1, head: HEAD + 1 }),
    weights: all.map((weight, i) => `${names[i]} ${number(weight)}`).join(",  "),
    apart: number(Math.max(...own.map((weight, i) => Math.abs(weight - all[i])))),
  });
}
