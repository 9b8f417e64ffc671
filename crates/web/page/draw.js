// What the parts of the paper's page draw with: elements, heat maps, bars and lines.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element with properties (or attributes, where it has no such property) and children.
 * @param {string} tag
 * @param {Record<string, unknown>} [properties]
 * @param {...(Node | string)} children
 */
export function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** An element of SVG, whose properties are attributes. */
export function vector(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** A piece as readers see it: the mark of the beginning of a word looks like a bar, so a dot stands for it. */
export const shown = (piece) => (piece ?? "?").replaceAll("▁", "·");

/** A number with three digits after the point, and a minus that is as wide as a plus. */
export const number = (value, digits = 3) => value.toFixed(digits).replace("-", "−");

/** A number that is not written as 0 unless it is 0. */
const written = (value, digits) => (value && Math.abs(value) < 0.5 * 10 ** -digits ? value.toExponential(1).replaceAll("-", "−") : number(value, digits));

/** A colour of the page by its name. */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The largest absolute value of some rows. */
export const largest = (rows) => rows.reduce((most, row) => row.reduce((best, value) => Math.max(best, Math.abs(value)), most), 1e-9);

/** A heat map of rows: above zero in one colour, below in another, full at `most` and beyond. */
export function heat(rows, label, most = 1) {
  const canvas = make("canvas", { width: rows[0].length, height: rows.length, role: "img", "aria-label": label, ariaHidden: String(!label) });
  const brush = canvas.getContext("2d");
  const [above, below] = [colour("--accent"), colour("--below")];
  rows.forEach((row, y) => row.forEach((value, x) => {
    brush.fillStyle = value < 0 ? below : above;
    brush.globalAlpha = Math.min(1, Math.abs(value) / most);
    brush.fillRect(x, y, 1, 1);
  }));
  return canvas;
}

/** The value of the full colour of some rows: three times their root mean square, beyond which outliers lie. */
export const range = (rows) => {
  const all = rows.flat();
  const size = Math.sqrt(all.reduce((sum, value) => sum + value * value, 0) / all.length);
  return Math.max(1e-9, Math.min(largest(rows), 3 * size));
};

/** A heat map with a title, its range, and the names of its rows and, where they are given, of its columns. */
export function named(title, rows, names, { columns, most = range(rows) } = {}) {
  const list = (texts, className) => make("ol", { className, ariaHidden: "true" }, ...texts.map((text) => make("li", {}, text)));
  const map = make("div", { className: columns ? "named columned" : "named" },
    ...(columns ? [make("span"), list(columns, "columns")] : []), list(names, "rows"), heat(rows, `${title}: ${names.join(" ")}`, most));
  map.style.setProperty("--rows", String(rows.length));
  map.style.setProperty("--columns", String(rows[0].length));
  const caption = columns ? title : `${title} (±${number(most, 2)})`;
  return make("figure", {}, make("figcaption", {}, caption), map);
}

/** A table of bars: a name, and for each of its values a bar of its share of `most`. */
export function bars(rows, most, digits = 3) {
  const body = rows.map(([name, ...values]) => make("tr", {}, make("th", { scope: "row" }, name),
    ...values.map((value, i) => {
      const bar = make("span", { className: `bar bar${i}` });
      bar.style.setProperty("--share", String(Math.max(0, Math.min(1, value / most))));
      return make("td", {}, bar, ` ${written(value, digits)}`);
    })));
  return make("tbody", {}, ...body);
}

/** A number as an axis has room for: 0.25, 1.2e-3, 403M. */
function brief(value) {
  const large = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
  return value === 0 || Math.abs(value) >= 0.01 ? large.format(value) : value.toExponential(1);
}

/**
 * Lines over updates or positions, `[[x, y], …]` each. Without names, the last is the darkest; with them, each has a style of its own.
 * @param {[number, number][][]} lines
 * @param {string} label
 * @param {{ top?: number, names?: string[], axis?: string }} [options] the least that the axis shows, the names of the lines, and that of the horizontal axis
 */
export function curves(lines, label, { top = 1e-9, names: kinds, axis } = {}) {
  const [width, height] = [360, 140];
  const all = lines.flat();
  const most = Math.max(...all.map(([x]) => x), 1);
  const [low, high] = [Math.min(...all.map(([, y]) => y), 0), Math.max(...all.map(([, y]) => y), top)];
  const at = ([x, y]) => `${(44 + (x / most) * (width - 56)).toFixed(1)},${(height - 20 - ((y - low) / (high - low)) * (height - 36)).toFixed(1)}`;
  const names = [[4, 16, high], [4, height - 22, low]].map(([x, y, value]) => vector("text", { x, y }, brief(value)));
  const end = vector("text", { x: width - 8, y: height - 4, "text-anchor": "end" }, axis ? `${axis} = ${most}` : String(most));
  const style = (i) => {
    if (kinds) return `line${i}`;
    return i === lines.length - 1 ? "now" : "last";
  };
  const paths = lines.map((line, i) => vector("polyline", { points: line.map(at).join(" "), class: style(i) }));
  const legend = (kinds ?? []).flatMap((name, i) => {
    const y = height + 14 + 16 * i;
    return [vector("path", { d: `M44 ${y - 4}H84`, class: style(i) }), vector("text", { x: 92, y }, name)];
  });
  return vector("svg", { viewBox: `0 0 ${width} ${height + 8 * legend.length + 4}`, role: "img", "aria-label": label, class: "curves" },
    vector("path", { d: `M44 12V${height - 20}H${width - 8}`, class: "axis" }), ...paths, ...names, end, ...legend);
}
