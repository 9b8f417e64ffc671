// fxtranslate's package, which is written for Node, in a worker of a page.

const read = (path) => {
  const request = new XMLHttpRequest();
  request.open("GET", path, false);
  request.responseType = "arraybuffer";
  request.send();
  return new Uint8Array(request.response);
};
let translator;

onmessage = ({ data }) => {
  try {
    if (translator) return postMessage(data.map((text) => translator.translate(text)));
    const module = { exports: {} };
    const source = new TextDecoder().decode(read("/peers/fxtranslate/wasm/fxtranslate_wasm.js"));
    new Function("module", "exports", "require", "__dirname", source)(module, module.exports, () => ({ readFileSync: read }), "/peers/fxtranslate/wasm");
    const [model, vocab, lex] = ["model", "vocab", "lex"].map((part) => read(`/student/${data[part]}`));
    translator = new module.exports.Translator(model, vocab, vocab, lex);
    postMessage({ backend: translator.backend() });
  } catch (error) {
    postMessage({ failed: String(error) });
  }
};
