// Tokens and embeddings (paper §3.4, §5.1).

import { bars, make, named, number } from "./draw.js";
import { embedded } from "./positions.js";
import { state } from "./state.js";
import { inputs, size, view } from "./view.js";
import { word } from "./words.js";

const $ = (id) => document.getElementById(id);

/** Draws the pieces of both sides; `choose` is called with a side and a position. */
export function tokens(choose) {
  const chips = (side) => inputs(side).map((piece, position) => make("button", {
    type: "button", className: "chip", "aria-pressed": state.side === side && state.piece === position,
    onclick: () => {
      choose(side, position);
      chipsOf(side).children[position].focus();
    },
  }, piece));
  for (const side of [0, 1]) chipsOf(side).replaceChildren(...chips(side));
  const [source, target] = [0, 1].map((side) => inputs(side).length);
  $("tokens-formula").textContent = word("tokens-formula", { source, target, vocab: view.seen.config.source_vocab });
}

const chipsOf = (side) => $(side ? "target-chips" : "source-chips");

/** Whether embeddings have the factor √d; models of other systems have none. */
const isScaled = ({ conventions }) => conventions?.embedding_scale !== "one";

/** Draws the embeddings of the chosen side, and the positions that are added to them. */
export async function embedding() {
  const { seen } = view;
  const [side, piece] = [state.side, state.piece];
  const { sums, places, scaled } = await embedded(side);
  if (seen !== view.seen || side !== state.side || piece !== state.piece) return;
  const { d_model: d } = seen.config;
  const hasFactor = isScaled(seen.config);
  const factor = hasFactor ? `√${d}` : "1";
  $("embedding-text").textContent = word("embedding-text", { d, factor });
  const maps = [["embedding-e", scaled], ["embedding-p", places], ["embedding-x", sums]];
  $("maps").replaceChildren(...maps.map(([name, rows]) => named(word(name, { factor }), rows, inputs(side))));
  const rows = maps.map(([name, rows]) => [word(name, { factor }), size(rows[piece])]);
  const bare = rows[0][1] / Math.sqrt(d);
  const place = rows[1][1];
  if (hasFactor) rows.unshift([word("embedding-bare"), bare]);
  $("embedding-sizes-text").textContent = word("embedding-sizes", { piece: inputs(side)[piece] });
  $("embedding-sizes").replaceChildren(bars(rows, Math.max(...rows.map(([, value]) => value))));
  $("embedding-formula").textContent = hasFactor ? `E·√d + PE,  √${d} = ${number(Math.sqrt(d), 2)}` : "E + PE";
  $("embedding-why").textContent = hasFactor && place ? word("embedding-why", { d, bare: number(bare, 2), place: number(place, 2) }) : "";
}
