// The engines in the page: each loads the student twice, warms up, and translates the sentences.

const { engine, parts, sentences } = await (await fetch("/what")).json();

const load = {
  async burnformer() {
    const { Translator } = await import("/ours/index.js");
    const translator = await Translator.load("/model", { compute: "int8", name: "en-xx" });
    return {
      translate: async (texts) => (await translator.translate(texts)).map(({ text }) => text),
      close: () => translator.close(),
    };
  },
  async bergamot() {
    const { BatchTranslator } = await import("/peers/@browsermt/bergamot-translator/translator.js");
    const translator = new BatchTranslator({ workers: 1, batchSize: 64, registryUrl: "/registry" });
    const one = async (text) => (await translator.translate({ from: "en", to: "xx", text, html: false })).target.text;
    return { translate: (texts) => Promise.all(texts.map(one)), close: () => translator.delete() };
  },
  async fxtranslate() {
    const worker = new Worker("/fxtranslate.js");
    const call = (message) => new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => (data.failed ? reject(new Error(data.failed)) : resolve(data));
      worker.postMessage(message);
    });
    await call(parts);
    return { translate: call, close: () => worker.terminate() };
  },
}[engine];

async function first() {
  const start = performance.now();
  const loaded = await load();
  await loaded.translate(["This is the first sentence."]);
  return [loaded, (performance.now() - start) / 1000];
}

const used = async () => Number(await (await fetch("/used")).text());

async function measured() {
  const [before, cold] = await first();
  await before.close();
  const loading = await used();
  const [loaded, warm] = await first();
  const opening = await used() - loading;
  await loaded.translate(sentences.slice(0, 200));
  const [start, old] = [performance.now(), await used()];
  const translations = await loaded.translate(sentences);
  return { cold, warm, opening, clock: (performance.now() - start) / 1000, used: await used() - old, translations };
}

const told = await measured().catch((error) => ({ failed: String(error?.stack ?? error) }));
await fetch("/told", { method: "POST", body: JSON.stringify(told) });
