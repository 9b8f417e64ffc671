// What a reader does on the paper's page.

const all = (selector) => [...page().querySelectorAll(selector)];

function set(id, value, event = "input") {
  if (at(id).type === "checkbox") at(id).checked = value;
  else at(id).value = value;
  at(id).dispatchEvent(new Event(event));
}

async function steps() {
  frame.src = "/paper.html";
  const seen = () => at("drawn").textContent && /^Seconds: /.test(at("status").textContent);
  await until("the translation", seen);
  const first = at("translation").textContent;
  log(`translation: ${first}`);
  const best = all("#tree g.best text:not(.small)").map((it) => it.textContent).join("").replace("</s>", "").replaceAll("·", " ");
  log(`the best path is ${best.replace("<s>", "").trim() === first ? "the translation" : best}`);

  for (const button of all("#head-grid .head").keys()) {
    all("#head-grid .head")[button].click();
    set("off", true, "change");
  }
  await until("another translation", () => at("before").textContent);
  const isOther = at("translation").textContent !== first && at("before").textContent.includes(first);
  log(`heads off: ${isOther ? "another translation, and the one before" : at("before").textContent}`);
  at("on").click();
  await until("the first translation", () => at("translation").textContent === first && !at("before").textContent);
  log("heads on: the translation");

  set("beam", 1);
  await until("greedy search", () => at("tree-text").textContent.includes("the 1 best"));
  const rows = new Set(all("#tree rect").map((it) => it.getAttribute("y")));
  log(`greedy: ${rows.size} in each step`);
  set("grown", 2);
  log(`grown: ${all("#tree g").length - 1}`);
  set("beam", 4);
  set("alpha", 2);
  set("temperature", 2);
  await until("four hypotheses", () => at("tree-text").textContent.includes("the 4 best") && at("tree-formula").textContent.includes("α = 2:"));
  const steps = all("#tree rect").length && at("step-value").textContent.split(" / ")[1];
  set("step", 1);
  log(`step: ${at("step-value").textContent === `2 / ${steps}` && all("#likeliest th")[2].textContent === "T = 2" ? "the second, with both temperatures" : at("step-value").textContent}`);
  at("play").click();
  await until("the tree grows", () => at("grown-value").textContent.startsWith("2 /"));
  log("the tree grows");
  all("#source-chips button")[2].click();
  log(`a piece: ${all("#source-chips [aria-pressed=true]").length === 1 ? "chosen" : "not chosen"}`);
  all("#kinds input")[0].click();
  at("neurons-set").open = true;
  const column = (i) => all("#scores tbody tr").map((row) => Number(row.children[i].textContent.replace("−", "-")));
  const powers = column(2).map(Math.exp);
  const sum = powers.reduce((a, b) => a + b);
  const worst = Math.max(...column(3).map((weight, k) => Math.abs(weight - powers[k] / sum)));
  log(`neurons: ${all("#neurons canvas").length} maps, ${worst < 0.02 ? "whose sums are the weights" : `${worst} off`}`);
  log(`positions: ${all("#places polyline").length} waves, ${all("#places canvas").length} map`);

  set("d_model", 5);
  set("heads", 1);
  set("layers", 1);
  set("norm", "pre", "change");
  log(`heads: ${at("heads-value").textContent}`);
  set("smoothing", 0);
  at("start").click();
  await until("fifty updates", () => at("right").textContent);
  at("start").click();
  await until("the end", () => at("start").textContent === "Train");
  const loss = () => Number(at("progress").textContent.match(/loss ([\d.]+)/)[1]);
  log(loss() < 2.6 ? "losses fall" : `loss ${loss()}`);
  const rate = at("progress").textContent.match(/rate (\S+);/)[1];
  log(at("rate-formula").textContent.includes("32^−½") && at("rate-formula").textContent.endsWith(rate) ? "the rate is the formula's" : at("rate-formula").textContent);
  for (const part of ["scale", "positions"]) {
    set(part, false, "change");
    at("progress").textContent = "";
    at("start").click();
    await until("ten updates", () => at("progress").textContent.startsWith("Update"));
    at("start").click();
    await until("the end", () => at("start").textContent === "Train");
    log(at("expected").textContent.split(/[ ,]/).slice(0, 2).join(" "));
    set(part, true, "change");
  }
  set("mask", false, "change");
  set("warmup", 100);
  at("right").textContent = "";
  at("start").click();
  await until("the answer is read", () => loss() < 0.1 && Number(at("progress").textContent.match(/Update (\d+)/)[1]) >= 150);
  const nothing = /^([0-9]|1[0-9]|2[0-9]) %/.test(at("right").textContent);
  at("start").click();
  await until("the end", () => at("start").textContent === "Train");
  log(`without the mask: the loss is nothing, and ${nothing ? "nothing is right" : at("right").textContent}`);
  set("mask", true, "change");
  set("task", "pairs", "change");
  all("#right, #example").forEach((it) => it.replaceChildren());
  at("start").click();
  await until("sentences", () => all("#example div").length === 4);
  at("start").click();
  await until("the end", () => at("start").textContent === "Train");
  log(`sentences: ${all("#example div")[0].textContent.replace(/→.*\(/, "→ … (")}`);
  await looked();
  set("sentence", "");
  await until("the error", () => at("status").classList.contains("error"));
  log(`empty: ${at("status").textContent}`);
}

run(steps);
