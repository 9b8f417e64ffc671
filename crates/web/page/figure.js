// Figure 1 of the paper with the reader's own sizes: each box is a door to its part, and one says "you are here".

import { vector } from "./draw.js";
import { KINDS, state } from "./state.js";
import { hasDecoderAttention, inputs, networkWidth, view } from "./view.js";
import { word } from "./words.js";

const $ = (id) => document.getElementById(id);
const [WIDTH, LEFT, RIGHT] = [172, 8, 220];
const [TALL, LOW, GAP] = [38, 24, 8];
/** The parts of the page, in its order. */
export const PARTS = ["tokens", "embedding", "positions", "attention", "residual", "ffn", "softmax", "beam"];

/** The parts that have one box. */
const ONCE = ["softmax", "beam"];

/** How many sub-layers a layer has, by side. */
const SUBLAYERS = [2, 3];

let here = PARTS[0];
let go;

/** Follows the reader through the page; `visit` is called with the part and the choices of a box that is pressed. */
export function startFigure(visit) {
  go = visit;
  let isWaiting = false;
  const look = () => {
    isWaiting = false;
    const middle = window.innerHeight * 0.45;
    const above = PARTS.filter((part) => $(`part-${part}`).getBoundingClientRect().top < middle);
    stand(above.at(-1) ?? PARTS[0]);
  };
  document.addEventListener("scroll", () => {
    if (!isWaiting) requestAnimationFrame(look);
    isWaiting = true;
  }, { passive: true });
}

/** Marks the part in which the reader is. */
export function stand(part) {
  here = part;
  if (!view.seen) return;
  const boxes = [...$("figure-picture").querySelectorAll("a")];
  for (const box of boxes) {
    const isHere = isCurrent(box.dataset);
    box.classList.toggle("here", isHere);
    if (isHere) box.setAttribute("aria-current", "true");
    else box.removeAttribute("aria-current");
  }
  const title = boxes.find((box) => isCurrent(box.dataset))?.dataset.title ?? word(`part-${part}`);
  $("here").textContent = word("here", { part: title });
}

/** A box is current if the reader is in its part, and has chosen its side, its sub-layer or its kind of attention. */
function isCurrent({ part, kind, side, place }) {
  if (part !== here) return false;
  if (kind) return kind === state.kind;
  const isOfSide = !side || Number(side) === state.side;
  return isOfSide && (!place || Number(place) === state.sublayer % SUBLAYERS[state.side]);
}

/** Draws the model. */
export function figure() {
  const { config } = view.seen;
  const [left, right] = [stack(0), stack(1)];
  const height = Math.max(...[left, right].map((boxes) => boxes.reduce((sum, box) => sum + tallOf(box) + GAP, 0))) + 40;
  const [encoder, decoder] = [column(left, LEFT, height), column(right, RIGHT, height)];
  const memory = memoryOf(encoder, decoder);
  const title = word("figure-label", { layers: config.encoder_layers, decoder: config.decoder_layers, norm: word(config.norm) });
  $("figure-picture").replaceChildren(vector("svg", { viewBox: `0 0 400 ${height}`, role: "group", "aria-label": title }, ...encoder.nodes, ...decoder.nodes, ...memory));
  $("figure-caption").textContent = title;
  stand(here);
}

/** The boxes of a stack from the bottom to the top: what they are, their part of the page, and their sizes. */
function stack(side) {
  const { config } = view.seen;
  const { d_model: d, heads, d_k: width } = config;
  const wide = networkWidth(side);
  const vocab = side ? config.target_vocab : config.source_vocab;
  const isPre = config.norm === "pre";
  const shape = `${inputs(side).length} × ${d}`;
  const norm = { title: word("box-norm"), part: "residual", isLow: true };
  const add = isPre ? { title: word("box-add"), part: "residual", isLow: true } : { title: word("box-add-norm"), part: "residual", isLow: true };
  const around = (box, place) => {
    const joins = { ...add, place, joins: true };
    return isPre ? [{ ...norm, place, splits: true }, box, joins] : [{ ...box, splits: true }, joins];
  };
  const attention = (kind, place) => around({ title: word(`box-${kind}`), part: "attention", kind, sizes: `${heads} × d_k ${width}` }, place);
  const history = hasDecoderAttention() ? attention("decoder", 0) : around({ title: word("box-recurrent"), part: "residual", place: 0 }, 0);
  const network = around({ title: word("box-ffn"), part: "ffn", sizes: `${d} → ${wide} → ${d}` }, SUBLAYERS[side] - 1);
  const layers = side ? [...history, ...attention("cross", 1), ...network] : [...attention("encoder", 0), ...network];
  layers[0] = { ...layers[0], opens: `N = ${side ? config.decoder_layers : config.encoder_layers}` };
  layers[layers.length - 1] = { ...layers.at(-1), closes: true };
  const bottom = [
    { title: word(side ? "box-target" : "box-source"), part: "tokens", sizes: word("box-pieces", { count: inputs(side).length }) },
    { title: word("box-embedding"), part: "embedding", sizes: `${vocab} × ${d}` },
    { title: word("box-positions"), part: "positions", sizes: shape },
  ];
  const top = side ? [{ title: word("box-softmax"), part: "softmax", sizes: `${d} → ${vocab}` }, { title: word("box-beam"), part: "beam", sizes: `k = ${view.seen.search.beam_size}` }] : [];
  return [...bottom, ...layers, ...(isPre ? [{ title: word("box-norm"), isLow: true }] : []), ...top].map((box) => ({ ...box, side }));
}

const tallOf = ({ isLow }) => (isLow ? LOW : TALL);

/** Draws the boxes of a stack above each other, with arrows between them and a frame around a layer. */
function column(boxes, x, height) {
  const nodes = [];
  const tops = new Map();
  let y = height - 8;
  let opened, below, split;
  boxes.forEach((box) => {
    const tall = tallOf(box);
    if (box.opens) opened = y + GAP / 2;
    if (box.splits) split = y + GAP / 2;
    if (below) nodes.push(vector("path", { d: `M${x + WIDTH / 2} ${below}V${y}`, class: "arrow" }));
    y -= tall;
    below = y;
    tops.set(box, y);
    // The residual connection goes around the sub-layer.
    if (box.joins) nodes.push(vector("path", { d: `M${x + WIDTH / 2} ${split}H${x - 3}V${y + tall / 2}H${x}`, class: "arrow" }));
    nodes.push(box.part ? door(box, x, y, tall) : vector("g", { class: "residual" }, ...drawn(box, x, y, tall)));
    if (box.closes) {
      const frame = vector("rect", { x: x - 6, y: y - GAP / 2, width: WIDTH + 12, height: opened - y + GAP / 2, rx: 10, class: "layer" });
      const label = vector("text", { x: x - 4, y: y - GAP - 2, class: "times" }, boxes.find(({ opens }) => opens).opens);
      nodes.unshift(frame);
      nodes.push(label);
      y -= 16;
    }
    y -= GAP;
  });
  return { nodes, tops };
}

/** The rectangle and the texts of a box. */
function drawn({ title, sizes }, x, y, tall) {
  const middle = x + WIDTH / 2;
  const texts = [vector("text", { x: middle, y: y + 16, "text-anchor": "middle" }, title)];
  if (sizes) texts.push(" ", vector("text", { x: middle, y: y + 31, "text-anchor": "middle", class: "sizes" }, sizes));
  return [vector("rect", { x, y, width: WIDTH, height: tall, rx: 5 }), ...texts];
}

/** A box that opens its part. */
function door(box, x, y, tall) {
  const { title, part, kind, side, place } = box;
  const link = vector("a", { href: `#part-${part}`, class: `box ${part}` }, ...drawn(box, x, y, tall));
  const choices = kind ? { kind } : { side };
  // The parts that only the decoder has are the reader's place whichever side is chosen.
  Object.assign(link.dataset, { part, title }, ONCE.includes(part) ? {} : choices, place === undefined ? {} : { place });
  link.addEventListener("click", (event) => {
    event.preventDefault();
    go(part, place === undefined ? choices : { side, sublayer: place + layerOn(side) * SUBLAYERS[side] });
  });
  return link;
}

/** The layer of the chosen sub-layer, or the first one of the other side. */
const layerOn = (side) => (side === state.side ? Math.floor(state.sublayer / SUBLAYERS[side]) : 0);

/** The arrow of the encoder's output to the cross-attention. */
function memoryOf(encoder, decoder) {
  const top = [...encoder.tops.values()].at(-1);
  const cross = [...decoder.tops].find(([box]) => box.kind === KINDS[2]);
  if (!cross) return [];
  const [from, to] = [LEFT + WIDTH / 2, RIGHT - 14];
  return [vector("path", { d: `M${from} ${top}V${top - 14}H${to}V${cross[1] + TALL / 2}H${RIGHT}`, class: "arrow" })];
}
