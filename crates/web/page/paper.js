// The paper's page: parts, of which two have a worker of their own.

import { Engine } from "./engine.js";
import { gpu } from "./gpu.js";
import { PARTS } from "./parts.js";
import { see } from "./see.js";
import { recall } from "./state.js";
import { train } from "./train.js";
import { why } from "./why.js";
import { offerLanguages, write } from "./words.js";

/** The models beside the page. */
const MODELS = ["de-en", "en-de"];

write();
offerLanguages(document.getElementById("language"));
recall();
document.getElementById("to-translate").hidden = !PARTS.includes("translator");
document.getElementById("gpu").hidden = !PARTS.includes("gpu");
navigator.serviceWorker?.register("offline.js").catch(() => {});
train();
gpu();
why();
see(new Engine(), MODELS);
