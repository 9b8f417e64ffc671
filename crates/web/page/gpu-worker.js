// A worker that makes the same updates on the graphics card and on the processor.

import init, { Lesson } from "./burnformer_gpu.js";

/** The largest difference of two arrays; NaN if one has it. */
const apart = (a, b) => a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);

/** The losses of `count` updates, and tokens per second after the first, which compiles the shaders. */
async function trained(lesson, count) {
  const update = async (count) => JSON.parse(await lesson.update(count));
  const first = await update(1);
  const start = performance.now();
  const others = await update(count - 1);
  const seconds = (performance.now() - start) / 1000;
  const tokens = others.reduce((sum, { tokens }) => sum + tokens, 0);
  return { losses: [...first, ...others].map(({ loss }) => loss), speed: tokens / seconds };
}

async function compare({ choices, updates }, tell) {
  tell("adapter");
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) return null;
  tell("program");
  await init();
  tell("models");
  const text = JSON.stringify(choices);
  const [card, processor] = [await Lesson.on_card(text), new Lesson(text)];
  const difference = async () => apart(await card.outputs(), await processor.outputs());
  tell("outputs");
  const before = await difference();
  tell("card");
  const onCard = await trained(card, updates);
  tell("processor");
  const onProcessor = await trained(processor, updates);
  const { vendor, architecture, device, description } = adapter.info;
  return {
    name: [vendor, architecture, device, description].filter(Boolean).join(" "),
    before, losses: apart(onCard.losses, onProcessor.losses), after: await difference(),
    speeds: [onCard.speed, onProcessor.speed],
  };
}

// A panic of the module while it waits for the card leaves no promise to reject.
onunhandledrejection = ({ reason }) => setTimeout(() => {
  throw reason;
});
onmessage = async ({ data: { id, argument } }) => {
  try {
    postMessage({ id, result: await compare(argument, (step) => postMessage({ id, step })) });
  } catch (error) {
    postMessage({ id, error: String(error?.message ?? error) });
  }
};
