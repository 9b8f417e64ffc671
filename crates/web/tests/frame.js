// What every test of a page needs: the page is in a frame of this document, which tells what is seen.

const lines = [];
const log = (line) => lines.push(line);
const frame = document.createElement("iframe");
const page = () => frame.contentDocument;
const at = (id) => page().getElementById(id);

async function until(what, condition, tries = 1200) {
  for (let i = 0; i < tries; i++) {
    try {
      if (condition()) return;
    } catch {
      // The page is not there yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${what}: ${at("status")?.textContent} / ${at("target")?.value ?? at("progress")?.textContent}`);
}

/** The ratio of contrast of an element's text and ground, by WCAG. */
function contrast(element) {
  const style = getComputedStyle(element);
  const channels = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number);
  const light = (colour) => channels(colour).map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = getComputedStyle(page().body).backgroundColor;
  const [a, b] = [light(style.color), light(ground)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}

/** Tells whether the page fits every width, and what has no name or too little contrast. */
async function looked() {
  for (const width of [390, 768, 1440, 1920]) {
    frame.style.width = `${width}px`;
    await new Promise((resolve) => setTimeout(resolve, 100));
    const root = page().documentElement;
    log(`${width}: ${root.scrollWidth <= width ? "fits" : root.scrollWidth}`);
  }
  const unnamed = [...page().querySelectorAll("select, textarea, input, button, output")]
    .filter((it) => !it.textContent.trim() && !it.labels?.[0]?.textContent.trim());
  const named = (it) => it.ariaLabel || page().getElementById(it.getAttribute("aria-labelledby"))?.textContent.trim();
  const drawn = [...page().querySelectorAll("canvas, svg, table, div[tabindex]")].filter((it) => it.ariaHidden !== "true" && !named(it));
  log(`without a label: ${[...unnamed, ...drawn].map((it) => it.id || it.outerHTML).join(" ")}`);
  const faint = [...page().querySelectorAll("h1, p, label, select, textarea, output, button")].filter((it) => contrast(it) < 4.5);
  log(`too faint: ${faint.map((it) => it.outerHTML).join(" ")}`);
}

/** Opens `address` in the frame, and runs `steps`. */
function run(steps) {
  document.body.append(frame);
  frame.style.cssText = "border: 0; height: 900px; width: 1000px";
  steps().catch((error) => log(`failed: ${error.message}`))
    .then(() => fetch("/log", { method: "POST", body: lines.join("\n") }));
}
