// A worker that computes what the paper's page shows.

import init, { Files, Lesson, Model, Paper } from "./burnformer_paper.js";

const ready = init();
let paper, model, lesson;

/** The files as the module takes them, which keeps what it is given. */
function given({ name, files }) {
  const all = new Files(name);
  for (const [file, bytes] of files) all.add(file, bytes);
  return all;
}

const methods = {
  open(folder) {
    paper?.free();
    model?.free();
    paper = new Paper(given(folder));
    model = new Model(given(folder));
  },
  see: ({ text, question }) => JSON.parse(paper.see(text, JSON.stringify(question))),
  translate: ({ text, options }) => JSON.parse(model.translate([text], JSON.stringify(options)))[0],
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
    await ready;
    postMessage({ id, result: await methods[method](argument) });
  } catch (error) {
    postMessage({ id, error: String(error?.message ?? error) });
  }
};
