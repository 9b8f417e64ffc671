// The beam search as a tree (paper §6.1): what each step considers, and what becomes of it.

/**
 * @typedef {{ id: number, row: number, piece: string, total: number, score: number | null, state: "live" | "cut" | "finished",
 *   isBest: boolean, parent: Node | null, depth: number, order: number }} Node
 */

/**
 * The tree of a search, as columns of nodes, the best first. Each step continues the rows of the model by their
 * likeliest pieces and considers the best 2k (one if k is 1); those with `</s>` are finished, of the others k go on.
 * @returns {Node[][]}
 */
export function treeOf({ steps, tokens, pieces, divisors, search, config }) {
  const considered = search.beam_size === 1 ? 1 : 2 * search.beam_size;
  const root = { piece: "<s>", total: 0, score: null, state: "live", isBest: true, parent: null, depth: 0, order: 0 };
  const columns = [[root]];
  let rows = [root];
  steps.forEach(({ candidates }, depth) => {
    const all = rows.flatMap((parent, row) => candidates[row].map(([id, logProb]) => ({ id, row, parent, total: parent.total + logProb })));
    const best = all.sort((a, b) => b.total - a.total).slice(0, considered);
    const next = steps[depth + 1]?.rows ?? [];
    const nodes = best.map(({ id, row, parent, total }, order) => {
      const isEnd = id === config.eos;
      const goesOn = next.some(([from, token]) => from === row && token === id);
      return {
        id, row, parent, total, order, depth: depth + 1, piece: pieces[id] ?? "?",
        score: isEnd ? total / divisors[depth] : null,
        state: isEnd ? "finished" : goesOn ? "live" : "cut",
        isBest: parent.isBest && id === tokens[depth],
      };
    });
    columns.push(nodes);
    rows = next.map(([from, token]) => nodes.find((node) => node.row === from && node.id === token) ?? root);
  });
  return columns;
}

/** The text of a node and of those before it. */
export function path(node) {
  const pieces = [];
  for (let at = node; at.parent; at = at.parent) pieces.unshift(at.piece);
  return pieces.join("").replace("</s>", "").replaceAll("▁", " ").trim();
}

