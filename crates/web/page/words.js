// The words of the page, for each language that it is written in.

const en = {
  title: "Translate in this page",
  promise: "The model runs in your browser. Your text is sent nowhere, and the page works offline.",
  model: "Model",
  open: "Open a model folder…",
  own: (name) => `${name} (opened)`,
  source: "Text",
  target: "Translation",
  copy: "Copy",
  copied: "Copied.",
  pairs: { "de-en": "German → English", "en-de": "English → German" },
  loading: "The model is loading…",
  ready: "Ready.",
  translating: (done, all) => `Sentence ${done} of ${all}…`,
  done: (sentences, seconds) => `Sentences: ${sentences}; seconds: ${seconds}.`,
};

const ko = {
  title: "이 페이지 안에서 번역",
  promise: "모델이 브라우저 안에서 실행됩니다. 텍스트는 어디로도 전송되지 않으며, 오프라인에서도 작동합니다.",
  model: "모델",
  open: "모델 폴더 열기…",
  own: (name) => `${name} (열린 폴더)`,
  source: "원문",
  target: "번역문",
  copy: "복사",
  copied: "복사했습니다.",
  pairs: { "de-en": "독일어 → 영어", "en-de": "영어 → 독일어" },
  loading: "모델을 불러오는 중…",
  ready: "준비되었습니다.",
  translating: (done, all) => `문장 ${done}/${all}…`,
  done: (sentences, seconds) => `문장: ${sentences}개, 시간: ${seconds}초.`,
};

const all = { en, ko };
const asked = navigator.languages.map((language) => language.split("-")[0]);

/** The language of the page: the first of the reader's that it is written in. */
export const language = asked.find((code) => all[code]) ?? "en";
export const words = all[language];
