// The files of a model directory from what a page has: an address, a folder, files, or bytes.

import { ARGUMENT, MODEL, NETWORK, failure } from "./failure.js";
import { platform } from "./platform.js";

const MANIFEST = "manifest.json";
/** Files that are larger are not read: a page has no memory for them. */
const MOST = 1 << 30;

/** The browser's cache of models, where there is one. */
export function cached() {
  return globalThis.caches?.open("burnformer").catch(() => null);
}

/** The name of the model and its files, as `{ name, files: [[name, bytes], …] }`. */
export async function filesOf(source, options) {
  if (typeof source === "string" || source instanceof URL) return fetched(String(source), options);
  if (source?.kind === "directory") return named(source.name, await entriesOf(source), options);
  if (source instanceof Map) return named("model", [...source], options);
  if (source?.[Symbol.iterator]) {
    const files = [...source];
    const folder = files[0]?.webkitRelativePath?.split("/").at(-2);
    return named(folder, files.map((file) => [file.name, file]), options);
  }
  if (source && typeof source === "object") return named("model", Object.entries(source), options);
  throw failure(ARGUMENT, "source: give an address, a folder, files, or an object of names and bytes");
}

async function entriesOf(folder) {
  const entries = [];
  for await (const entry of folder.values()) {
    if (entry.kind === "file") entries.push([entry.name, await entry.getFile()]);
  }
  return entries;
}

async function named(given, entries, { name, progress, signal }) {
  const files = [];
  const sizes = entries.map(([, content]) => content?.size ?? content?.byteLength ?? 0);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total > MOST) throw failure(MODEL, `the model has ${total} bytes; a page can load ${MOST}`);
  let loaded = 0;
  for (const [i, [file, content]] of entries.entries()) {
    signal?.throwIfAborted();
    const bytes = content?.arrayBuffer ? await content.arrayBuffer() : content;
    // No `instanceof`: bytes may come from another frame.
    if (bytes?.byteLength === undefined) {
      throw failure(ARGUMENT, `${file}: give its bytes, as a Uint8Array, an ArrayBuffer or a Blob`);
    }
    files.push([file, ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes)]);
    loaded += sizes[i];
    progress?.(loaded, total);
  }
  return { name: name ?? given ?? "model", files };
}

/** The folder at `address`, which may be relative to a page. */
function folderAt(address) {
  const folder = address.endsWith("/") ? address : `${address}/`;
  if (URL.canParse(folder, globalThis.location?.href)) return new URL(folder, globalThis.location?.href);
  throw failure(ARGUMENT, `${address}: no address; give one with https: or file: (of a path in Node: pathToFileURL(path))`);
}

/** The files that the manifest in the folder `address` lists, kept in the cache by their hashes. */
async function fetched(address, { name, cache, progress, signal }) {
  const folder = folderAt(address);
  cache = await cache;
  const manifest = await newest(new URL(MANIFEST, folder), cache, signal);
  const entries = Object.entries(listed(manifest, folder));
  const total = entries.reduce((sum, [, entry]) => sum + entry.bytes, 0);
  if (!(total <= MOST)) throw failure(MODEL, `${folder}: the model has ${total} bytes; a page can load ${MOST}`);
  const files = [[MANIFEST, manifest]];
  let loaded = 0;
  for (const [file, { bytes, sha256 }] of entries) {
    const key = new URL(encodeURIComponent(file), folder);
    const kept = new URL(`?sha256=${encodeURIComponent(sha256)}`, key);
    const found = await cache?.match(kept);
    const whole = found ? new Uint8Array(await found.arrayBuffer())
      : await content(key, { signal, most: bytes, progress: (part) => progress?.(loaded + part, total) });
    // A full cache is no reason not to translate.
    if (!found) await cache?.put(kept, new Response(whole)).catch(() => {});
    loaded += bytes;
    progress?.(loaded, total);
    files.push([file, whole]);
  }
  return { name: name ?? folder.pathname.split("/").at(-2), files };
}

/** The manifest as the network has it, or as it was kept, where there is no network. */
async function newest(address, cache, signal) {
  try {
    const manifest = await content(address, { signal });
    await cache?.put(address, new Response(manifest)).catch(() => {});
    return manifest;
  } catch (error) {
    const kept = signal?.aborted ? null : await cache?.match(address);
    if (!kept) throw error;
    return new Uint8Array(await kept.arrayBuffer());
  }
}

function listed(manifest, folder) {
  try {
    const { files } = JSON.parse(new TextDecoder().decode(manifest));
    if (Object.values(files).every((entry) => Number.isSafeInteger(entry.bytes))) return files;
  } catch {
    // The message below says it.
  }
  throw failure(MODEL, `${folder}${MANIFEST}: is no list of files; give the address of a model directory`);
}

/** What an address holds: at most one byte more than `most`, which the hash then notices. */
async function content(address, options) {
  try {
    return await contentOf(address, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    throw failure(NETWORK, error.message.includes(address) ? error.message : `${address}: ${error.message}`, error);
  }
}

async function contentOf(address, { signal, most = 1 << 20, progress }) {
  if (address.protocol === "file:" && platform.readFile) {
    return new Uint8Array(await platform.readFile(address, signal));
  }
  const response = await fetch(address, { signal });
  if (!response.ok) throw new Error(`${address}: ${response.status} ${response.statusText}`);
  const parts = [];
  let size = 0;
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
    progress?.(Math.min(size, most));
    if (size > most) {
      await reader.cancel();
      break;
    }
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
