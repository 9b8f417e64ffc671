// What each head is worth: how much less likely the translation is without it.

import { everyHead } from "./attention.js";
import { make, number } from "./draw.js";
import { explained } from "./errors.js";
import { headName } from "./state.js";
import { offOf, view } from "./view.js";
import { word } from "./words.js";

const $ = (id) => document.getElementById(id);

/** The sum of the log-probabilities of `tokens` as the translation of `text` without what is `off`. */
export async function logProbOf(text, tokens, off) {
  const each = await view.engine.call("score", { text, tokens, off: offOf(off) });
  return each.reduce((sum, value) => sum + value, 0);
}

/** Lets the reader measure all heads; `choose` is called with a head whose row is pressed. */
export function startHeads(choose) {
  $("measure").addEventListener("click", () => measure(choose));
}

/** Forgets what was measured. */
export function clearHeads() {
  $("costs").replaceChildren();
  $("measure-status").textContent = "";
}

/** Measures the translation with all heads on, until another takes its place. */
async function measure(choose) {
  const { whole } = view;
  $("measure").disabled = true;
  try {
    const costs = [];
    const all = everyHead();
    for (const { kind, layer, head } of all) {
      const without = await logProbOf(whole.text, whole.found.tokens, [headName(kind, layer, head)]);
      if (whole !== view.whole) return;
      costs.push({ kind, layer, head, cost: whole.logProb - without });
      $("measure-status").textContent = word("measured", { done: costs.length, all: all.length });
    }
    show(costs, choose);
  } catch (error) {
    if (whole === view.whole) $("measure-status").textContent = explained(error);
  } finally {
    $("measure").disabled = false;
  }
}

function show(rows, choose) {
  rows.sort((a, b) => b.cost - a.cost);
  const most = Math.max(...rows.map(({ cost }) => Math.abs(cost)), 1e-9);
  const body = rows.map(({ kind, layer, head, cost }) => {
    const title = `${word(kind).split(/[:：]/)[0]}, ${word("head", { layer: layer + 1, head: head + 1 })}`;
    const bar = make("span", { className: cost < 0 ? "bar bar1" : "bar" });
    bar.style.setProperty("--share", String(Math.abs(cost) / most));
    const button = make("button", { type: "button", className: "chip", onclick: () => choose({ kind, layer, head }) }, title);
    return make("tr", {}, make("th", { scope: "row" }, button), make("td", {}, bar, ` ${number(-cost, 3)}`));
  });
  $("costs").replaceChildren(
    make("thead", {}, make("tr", {}, ...[word("head-title"), word("cost")].map((title) => make("th", { scope: "col" }, title)))), make("tbody", {}, ...body));
}
