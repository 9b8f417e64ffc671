// What a reader does on the translating page.

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

async function steps() {
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
  await looked();
  await navigator.serviceWorker.ready;
  await fetch("/offline");
  await opened();
  log(`offline: ${await typed("Ich habe Hunger.")}`);
}

run(steps);
