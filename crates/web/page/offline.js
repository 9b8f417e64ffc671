// Keeps the page for visits without a network. Models are kept by the package, by their hashes. Both modules of the
// translator are kept: a browser that was updated may need the other one.

const CACHE = "burnformer-page";
const FILES = [
  "./", "index.html", "page.js", "page.css", "words.js", "words.en.json", "words.ko.json", "icon.svg", "page.webmanifest",
  "index.js", "failure.js", "files.js", "hash.js", "platform.js", "methods.js", "worker.js", "burnformer_web.js", "burnformer_web_bg.wasm", "burnformer_relaxed_bg.wasm", "burnformer_documents.js", "burnformer_documents_bg.wasm",
  "paper.html", "guide/paper.md.txt", "paper.css", "paper.js", "parts.js", "attention.js", "batch.js", "beam.js", "binding.js", "clipboard.js", "draw.js", "engine.js", "errors.js", "examples.js", "figure.js", "folders.js", "gpu.js", "gpu-worker.js", "heads.js", "language.js",
  "paper-worker.js", "pieces.js", "positions.js", "see.js", "softmax.js", "state.js", "sublayers.js", "tour.js", "train.js", "tree.js", "view.js", "why.js", "pairs.tsv",
  "burnformer_paper.js", "burnformer_paper_bg.wasm",
];

/** Fetches every file of the pages, with the code that the paper's page links to, but not the program for WebGPU, which is large. */
async function keep() {
  const page = await (await fetch("paper.html")).text();
  const code = [...page.matchAll(/href="(code\/[^"]+)"/g)].map(([, file]) => file);
  const cache = await caches.open(CACHE);
  // A cache takes each file once. A folder that has the page of the paper alone lacks some.
  await Promise.all([...new Set([...FILES, ...code])].map(async (file) => {
    const response = await fetch(file);
    if (response.ok) await cache.put(file, response);
  }));
  await self.skipWaiting();
}

self.addEventListener("install", (event) => event.waitUntil(keep()));
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

// What the network has is newer; without one, what was kept serves.
self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || new URL(event.request.url).origin !== location.origin) return;
  if (event.request.url.includes("/models/")) return;
  event.respondWith((async () => {
    try {
      const response = await fetch(event.request);
      if (response.ok) (await caches.open(CACHE)).put(event.request, response.clone());
      return response;
    } catch (error) {
      const kept = await caches.match(event.request);
      if (kept) return kept;
      throw error;
    }
  })());
});
