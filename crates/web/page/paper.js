// The paper's page: parts, each with a worker of its own.

import { Engine } from "./engine.js";
import { gpu } from "./gpu.js";
import { see } from "./see.js";
import { train } from "./train.js";
import { write } from "./words.js";

/** The models beside the page. */
const MODELS = ["de-en", "en-de"];

write();
navigator.serviceWorker?.register("offline.js").catch(() => {});
train(new Engine());
gpu();
see(new Engine(), MODELS);
