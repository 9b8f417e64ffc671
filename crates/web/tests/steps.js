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

/** What the page offers to save after the reader chose a file. */
async function translated(name, content) {
  at("save").hidden = true;
  const files = new DataTransfer();
  files.items.add(new File([content], name));
  at("file").files = files.files;
  at("file").dispatchEvent(new Event("change"));
  await until(`the translation of ${name}`, () => !at("save").hidden || /no sentence/.test(at("status").textContent) || at("status").classList.contains("error"));
  if (at("save").hidden) return at("status").textContent.split(/[;(]/)[0].trim();
  return `${at("save").download}: ${await (await fetch(at("save").href)).text()}`;
}

/** The text of the shadow roots in an element after its translation: nested ones, a closed one, and one that stays. */
async function translatedShadows(translator) {
  const part = document.createElement("div");
  const text = "<p>The house is small.</p>";
  const shadow = (parent, mode) => {
    const root = parent.appendChild(document.createElement("div")).attachShadow({ mode });
    root.innerHTML = text;
    return root;
  };
  const open = shadow(part, "open");
  const roots = [open, shadow(open, "open"), shadow(part, "closed"), shadow(part, "open")];
  roots[3].host.setAttribute("translate", "no");
  const kept = open.firstChild;
  const counts = [];
  await translator.translateElement(part, { progress: (...count) => counts.push(count.join("/")) });
  return [...roots.map((root) => root.firstChild.textContent), kept === open.firstChild, counts.at(-1)].join(" | ");
}

async function steps() {
  await opened();
  log(`typed: ${await typed("Guten Morgen! Das Haus ist klein.\n\nIch habe Hunger.")}`);
  log(await translated("page.html", "<p>Das <b>Haus</b> ist klein.</p>"));
  log(await translated("film.srt", "1\n00:00:01,000 --> 00:00:02,000\nIch habe Hunger.\n"));
  log(await translated("broken.docx", "PK"));
  log(await translated("song.mp3", "x"));
  log(await translated("english.txt", "The old man lives by the sea and goes fishing every day."));
  await until("the language of the file", () => at("notice").textContent);
  log(`noticed: ${at("notice").textContent}`);
  log(await translated("empty.txt", "\n"));
  log(`noticed: ${at("notice").textContent}`);
  at("source").value = "The house is small and the dog is sleeping.";
  at("source").dispatchEvent(new Event("input"));
  await until("the wrong language", () => at("notice").textContent);
  log(`noticed: ${at("notice").textContent}`);
  const choosing = until("the other model", () => at("target").value.includes("Haus"));
  at("source").value = "The house is small.";
  page().querySelector("#notice button").click();
  await choosing;
  log(`other way: ${at("target").value}`);
  const turning = until("the direction is turned", () => at("target").value.includes("house"));
  at("swap").click();
  await turning;
  log(`turned: ${at("source").value} ${at("target").value} ${at("model").value}`);
  log(`confidence: ${/^Confidence \d+ %$/.test(page().querySelector("#target span").title)}`);
  await openModel((name, bytes) => (name === "model.safetensors" ? bytes.slice(0, 1000) : bytes));
  await until("the error", () => at("status").classList.contains("error"));
  log(`broken: ${at("status").textContent} ${at("model").options.length} models, ${at("target").value ? "an old translation" : "no old translation"}`);
  await openModel((_, bytes) => bytes);
  await until("the opened model", () => !at("status").classList.contains("error") && at("target").value);
  log(`opened: ${await typed("Ich habe Hunger.")}`);
  await looked();
  const paragraph = page().querySelector("#sample-text p");
  const before = paragraph.textContent;
  const texts = () => ["model", "source", "target"].map((id) => at(id).value).join();
  const own = texts();
  at("in-place").click();
  await until("the sample", () => at("sample-text").lang === "de" && !at("undo").hidden);
  log(`in place, ${paragraph.isConnected ? "the same element" : "another element"}: ${paragraph.textContent}`);
  at("undo").click();
  log(`undone: ${paragraph.textContent === before && at("undo").hidden}, ${texts() === own ? "the reader's texts stay" : texts()}`);
  const { Translator } = await import("/index.js");
  const translator = await Translator.load("/models/en-de");
  const part = document.createElement("div");
  part.innerHTML = '<p title="The house is small.">The <b>house</b> is small.<br>I am <a href="#x">hungry</a>.</p><pre translate="no">The house</pre>';
  const kept = [...part.querySelectorAll("*")];
  await translator.translateElement(part);
  log(`element: ${part.innerHTML}`);
  log(`kept: ${[...part.querySelectorAll("*")].every((it) => kept.includes(it))}`);
  log(`shadow roots: ${await translatedShadows(translator)}`);
  translator.close();
  await navigator.serviceWorker.ready;
  await fetch("/offline");
  await opened();
  log(`offline: ${await typed("Ich habe Hunger.")}`);
  const files = await Promise.all(["paper.html", "burnformer_paper_bg.wasm", "code/core/norm.rs.txt"].map((file) => frame.contentWindow.fetch(file)));
  log(`the paper offline: ${files.every(({ ok }) => ok)}`);
}

run(steps);
