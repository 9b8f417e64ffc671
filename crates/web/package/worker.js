// A worker of a browser that has the model.

import { serve } from "./methods.js";

const answer = serve((message) => globalThis.postMessage(message), (address) => address);
globalThis.onmessage = ({ data }) => answer(data);
