// A worker that computes what the paper's page shows.

import init, { Files, Lesson, Paper } from "./burnformer_paper.js";
import { hashOf } from "./hash.js";

let paper, lesson;
/** The promise of the module. */
let ready = null;

function start() {
  ready ??= init();
  // Without a network it is tried again the next time.
  ready.catch(() => (ready = null));
  return ready;
}

/** The files as the module takes them, which keeps what it is given. */
async function given({ name, files }) {
  const hashes = await Promise.all(files.map(([, bytes]) => hashOf(bytes)));
  const all = new Files(name);
  files.forEach(([file, bytes], i) => all.add(file, bytes, hashes[i]));
  return all;
}

/** The model that is open. */
function present() {
  if (!paper) throw new Error("no model is open");
  return paper;
}

const methods = {
  async open(folder) {
    const files = await given(folder);
    paper?.free();
    paper = null;
    paper = new Paper(files);
  },
  see: ({ text, question }) => JSON.parse(present().see(text, JSON.stringify(question))),
  draw: ({ text, options, off }) => present().draw(text, JSON.stringify(options), JSON.stringify(off)),
  pieces: (text) => present().pieces(text),
  padded: ([text, other]) => JSON.parse(present().padded(text, other)),
  score: ({ text, tokens, off }) => Array.from(present().score(text, Uint32Array.from(tokens), JSON.stringify(off))),
  parameter: (name) => present().parameter(name),
  begin(choices) {
    lesson?.free();
    lesson = null;
    lesson = new Lesson(JSON.stringify(choices));
  },
  update: async (count) => JSON.parse(await lesson.update(count)),
  judge: () => JSON.parse(lesson.judge()),
};

onmessage = async ({ data: { id, method, argument } }) => {
  try {
    await start();
    postMessage({ id, result: await methods[method](argument) });
  } catch (error) {
    postMessage({ id, error: String(error?.message ?? error) });
  }
};

// The module compiles while the files of the model come.
start().catch(() => {});
