// What the package needs of the place where it runs. This is a browser's; `node.js` replaces it.

/** A worker. Bundlers find its file only where these words stand together. */
function newWorker() {
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
}

/** Whether this file came from another origin than the page. Bundlers write other addresses into it, such as `file:`. */
function isOfAnotherOrigin() {
  return /^https?:/.test(import.meta.url) && new URL(import.meta.url).origin !== globalThis.location?.origin;
}

/** A worker of this page that imports the worker of another origin, which browsers do not start themselves. */
function importingWorker() {
  const folder = import.meta.url.replace(/[^/]*$/, "");
  const code = new Blob([`import ${JSON.stringify(`${folder}worker.js`)};`], { type: "text/javascript" });
  return new Worker(URL.createObjectURL(code), { type: "module" });
}

export const platform = {
  /** Starts a worker, and calls `take` with each of its messages and `fail` with the reason of its end. */
  start(take, fail) {
    const worker = isOfAnotherOrigin() ? importingWorker() : newWorker();
    worker.onmessage = ({ data }) => take(data);
    worker.onerror = (event) => fail(event.message || "the worker does not start");
    return worker;
  },
  /** The bytes of the file at an address `file:`; none where only `fetch` reads. */
  readFile: null,
};
