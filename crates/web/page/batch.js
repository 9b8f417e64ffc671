// A batch of the reader's sentence and an example: the mask hides the padding of the shorter one.

import { make, shown } from "./draw.js";
import { exampleBeside } from "./examples.js";
import { state } from "./state.js";
import { inputs, view } from "./view.js";
import { word } from "./words.js";

const $ = (id) => document.getElementById(id);

/** Draws the batch, for the attentions whose keys are pieces of the source. */
export async function batch() {
  const { seen } = view;
  const other = exampleBeside($("model").value, $("sentence").value);
  const isShown = state.kind !== "decoder" && other !== undefined;
  $("batch-set").hidden = !isShown;
  if (!isShown) return;
  const pieces = await view.engine.call("pieces", other);
  if (seen !== view.seen) return;
  const rows = [inputs(0), pieces.map(shown)];
  const length = Math.max(...rows.map((row) => row.length));
  $("batch").replaceChildren(make("tbody", {}, ...rows.map((row) => make("tr", {}, ...Array.from({ length }, (_, i) =>
    (i < row.length ? make("td", {}, row[i]) : make("td", { className: "masked" }, "<pad>")))))));
}
