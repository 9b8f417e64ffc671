// A worker of Node that has the model.

import { readFile } from "node:fs/promises";
import { parentPort } from "node:worker_threads";

import { serve } from "./methods.js";

const answer = serve((message) => parentPort.postMessage(message), readFile);
parentPort.on("message", answer);
