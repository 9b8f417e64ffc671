// The paper's page: two parts, each with a worker of its own.

import { Engine } from "./engine.js";
import { see } from "./see.js";
import { train } from "./train.js";
import { write } from "./words.js";

/** The models beside the page. */
const MODELS = ["de-en", "en-de"];

write();
navigator.serviceWorker?.register("offline.js").catch(() => {});
train(new Engine());
see(new Engine(), MODELS);
