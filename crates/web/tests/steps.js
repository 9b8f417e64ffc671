// What a reader does on the page, which is in a frame of this document. It tells what is seen.

const lines = [];
const log = (line) => lines.push(line);
const frame = document.createElement("iframe");
const page = () => frame.contentDocument;
const at = (id) => page().getElementById(id);

async function until(what, condition) {
  for (let i = 0; i < 1200; i++) {
    try {
      if (condition()) return;
    } catch {
      // The page is not there yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${what}: ${at("status")?.textContent} / ${at("target")?.value}`);
}

async function opened() {
  frame.src = "/index.html";
  await until("ready", () => at("status").textContent === "Ready." && page().location.pathname === "/index.html");
}

async function typed(text) {
  at("target").value = "";
  at("source").value = text;
  at("source").dispatchEvent(new Event("input"));
  await until(`the translation of ${text}`, () => /^Sentences: /.test(at("status").textContent) && at("target").value);
  return at("target").value;
}

async function chosen(value) {
  at("model").value = value;
  at("model").dispatchEvent(new Event("change"));
}

/** A folder of a model that the reader opens, in which `change` was made. */
async function openModel(change) {
  const names = Object.keys((await (await fetch("/models/de-en/manifest.json")).json()).files);
  const files = new DataTransfer();
  for (const name of ["manifest.json", ...names]) {
    const bytes = new Uint8Array(await (await fetch(`/models/de-en/${name}`)).arrayBuffer());
    files.items.add(new File([change(name, bytes)], name));
  }
  at("folder").files = files.files;
  at("folder").dispatchEvent(new Event("change"));
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

async function steps() {
  document.body.append(frame);
  frame.style.cssText = "border: 0; height: 900px; width: 1000px";
  await opened();
  log(`typed: ${await typed("Guten Morgen! Das Haus ist klein.\n\nIch habe Hunger.")}`);
  const choosing = until("the other model", () => at("target").value.includes("Haus"));
  at("source").value = "The house is small.";
  await chosen("en-de");
  await choosing;
  log(`other way: ${at("target").value}`);
  await openModel((name, bytes) => (name === "model.safetensors" ? bytes.slice(0, 1000) : bytes));
  await until("the error", () => at("status").classList.contains("error"));
  log(`broken: ${at("status").textContent}`);
  await openModel((_, bytes) => bytes);
  await until("the opened model", () => !at("status").classList.contains("error") && at("target").value);
  log(`opened: ${await typed("Ich habe Hunger.")}`);
  for (const width of [390, 768, 1440, 1920]) {
    frame.style.width = `${width}px`;
    await new Promise((resolve) => setTimeout(resolve, 100));
    const root = page().documentElement;
    log(`${width}: ${root.scrollWidth <= width ? "fits" : root.scrollWidth}`);
  }
  const unnamed = [...page().querySelectorAll("select, textarea, input, button, output")]
    .filter((it) => !it.textContent.trim() && !it.labels?.[0]?.textContent.trim());
  log(`without a label: ${unnamed.map((it) => it.id).join(" ")}`);
  const faint = [...page().querySelectorAll("h1, p, label, select, textarea, output, button")].filter((it) => contrast(it) < 4.5);
  log(`too faint: ${faint.map((it) => it.outerHTML).join(" ")}`);
  await navigator.serviceWorker.ready;
  await fetch("/offline");
  await opened();
  log(`offline: ${await typed("Ich habe Hunger.")}`);
}

steps().catch((error) => log(`failed: ${error.message}`))
  .then(() => fetch("/log", { method: "POST", body: lines.join("\n") }));
