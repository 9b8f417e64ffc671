// The picture of a beam search, and the list of what it finished.

import { path } from "./beam.js";
import { make, number, shown, vector } from "./draw.js";
import { word } from "./words.js";

/** The width of a step, and the height of a hypothesis, in pixels. */
export const [WIDTH, HEIGHT] = [112, 34];

/** The picture of the first `count` steps of a tree. */
export function picture(columns, count) {
  const seen = columns.slice(0, count + 1);
  const at = ({ depth, order }) => [8 + depth * WIDTH, 8 + order * HEIGHT];
  const nodes = seen.flat();
  const edges = nodes.filter(({ parent }) => parent).map((node) => {
    const [[x1, y1], [x2, y2]] = [at(node.parent), at(node)];
    return vector("path", { d: `M${x1 + 88} ${y1 + 13}C${x1 + 100} ${y1 + 13} ${x2 - 12} ${y2 + 13} ${x2} ${y2 + 13}`, class: kind(node) });
  });
  const boxes = nodes.map((node) => {
    const [x, y] = at(node);
    const value = node.parent ? number(node.score ?? node.total, 2) : "";
    return vector("g", { class: kind(node) },
      vector("title", {}, `${shown(node.piece)} ${value}: ${word(node.isBest ? "best" : node.state)}`),
      vector("rect", { x, y, width: 88, height: 26, rx: 5 }),
      vector("text", { x: x + 5, y: y + 11 }, shown(node.piece).slice(0, 13)),
      vector("text", { x: x + 5, y: y + 23, class: "small" }, value));
  });
  const height = 16 + HEIGHT * Math.max(...columns.map((column) => column.length));
  const finished = nodes.filter(({ state }) => state === "finished").map((node) => `${path(node)} ${number(node.score, 2)}`);
  const label = word("tree-label", { steps: count, finished: finished.join("; ") || "–" });
  return vector("svg", { width: 16 + WIDTH * columns.length, height, role: "img", "aria-label": label }, ...edges, ...boxes);
}

const kind = ({ state, isBest }) => (isBest ? `${state} best` : state);

/** A list of what is finished after `count` steps, the best first. */
export function finished(columns, count) {
  const ends = columns.slice(0, count + 1).flat().filter(({ state }) => state === "finished");
  const items = ends.sort((a, b) => b.score - a.score).map((node) => make("li", {}, `${path(node)} ${number(node.score)}`));
  return make("ol", {}, ...items);
}
