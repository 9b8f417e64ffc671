// What the reader chose. It is in the address, so that a link opens it.

export const KINDS = ["encoder", "decoder", "cross"];

/** The fields whose values are in the address as they are. */
const FIELDS = ["sentence", "beam", "alpha", "temperature"];
/** The maximum length of a value in the address. A longer sentence is none that a model of the page reads. */
const MAX_LENGTH = 1000;
const WRITTEN = ["side", "piece", "layer", "head", "sublayer", "step", "tour"];
/** A head: its kind, layer and number; or a feed-forward network: its side and layer. */
const HEAD = /^(encoder|decoder|cross)\.\d{1,2}\.\d{1,2}$/;
const NETWORK = /^ffn\.[01]\.\d{1,2}$/;
/** The name of the positions among what is off. */
export const POSITIONS = "positions";
const $ = (id) => document.getElementById(id);

/**
 * The choices: the model's name, the kind, layer and head of an attention, a piece of a side, a sub-layer, a step of the search,
 * a step of the tour (0: none), and what is off: heads, feed-forward networks, and the positions.
 */
export const state = { model: "", kind: "cross", layer: 0, head: 0, side: 0, piece: 0, sublayer: 0, step: 0, tour: 0, off: new Set() };

/** The heads that are off. */
export const headsOff = () => [...state.off].filter((name) => HEAD.test(name));

/** The feed-forward networks that are off. */
export const networksOff = () => [...state.off].filter((name) => NETWORK.test(name));

/** Switches all of these heads off but one. */
export function leaveOnly(heads, one) {
  heads.forEach((name) => state.off.add(name));
  state.off.delete(one);
}

/** The name of a head among those that are off. */
export const headName = (kind, layer, head) => `${kind}.${layer}.${head}`;

/** The name of a feed-forward network among those that are off. */
export const networkName = (side, layer) => `ffn.${side}.${layer}`;

/** Takes the choices that the address has; what it has wrong is left as it was. */
export function recall() {
  const given = new URLSearchParams(location.search);
  const isGiven = (id) => given.has(id) && (id === "sentence" || /^-?\d+(\.\d+)?$/.test(given.get(id)));
  for (const id of FIELDS.filter(isGiven)) $(id).value = given.get(id);
  for (const id of WRITTEN.filter((id) => /^\d{1,3}$/.test(given.get(id)))) state[id] = Number(given.get(id));
  if (KINDS.includes(given.get("kind"))) state.kind = given.get("kind");
  state.side = Math.min(state.side, 1);
  state.model = given.get("model") ?? "";
  state.off = new Set((given.get("off") ?? "").split(",").filter((name) => name === POSITIONS || HEAD.test(name) || NETWORK.test(name)));
  for (const input of trained()) {
    const value = given.get(input.id);
    if (value === null) continue;
    if (input.type === "checkbox") input.checked = value === "1";
    else if (input.tagName !== "SELECT" || [...input.options].some((option) => option.value === value)) input.value = value;
  }
}

/** The controls of the training. */
const trained = () => document.querySelectorAll("#train input[id], #train select[id]");

/** Writes the choices to the address, without those that are the page's own. */
export function remember() {
  const query = new URLSearchParams();
  const language = new URLSearchParams(location.search).get("lang");
  if (language) query.set("lang", language);
  if (state.model) query.set("model", state.model);
  for (const id of FIELDS) {
    const { value, defaultValue } = $(id);
    if (value !== defaultValue && value.length <= MAX_LENGTH) query.set(id, value);
  }
  if (state.kind !== "cross") query.set("kind", state.kind);
  for (const id of WRITTEN.filter((id) => state[id])) query.set(id, state[id]);
  if (state.off.size) query.set("off", [...state.off].join(","));
  for (const input of trained()) {
    const isSelect = input.tagName === "SELECT";
    if (input.type === "checkbox" && input.checked !== input.defaultChecked) query.set(input.id, input.checked ? "1" : "0");
    else if (isSelect ? input.selectedIndex > 0 : input.type === "range" && input.value !== input.defaultValue) query.set(input.id, input.value);
  }
  const text = query.toString();
  history.replaceState(null, "", (text ? `?${text}` : location.pathname) + location.hash);
}
