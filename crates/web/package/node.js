// The translator of the package in Node.

import { readFile } from "node:fs/promises";
import { Worker } from "node:worker_threads";

import { platform } from "./platform.js";

platform.start = (take, fail) => {
  const worker = new Worker(new URL("./worker.node.js", import.meta.url));
  worker.on("message", take);
  worker.on("error", (error) => fail(error.message));
  return worker;
};
platform.readFile = (address, signal) => readFile(address, { signal });

export * from "./index.js";
