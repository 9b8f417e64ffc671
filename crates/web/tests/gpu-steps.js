// What a reader does with a graphics card on the paper's page.

async function steps() {
  frame.src = "/paper.html";
  await until("the translation", () => at("drawn").textContent);
  for (const [id, value] of [["d_model", 4], ["heads", 0], ["layers", 1]]) {
    at(id).value = value;
    at(id).dispatchEvent(new Event("input"));
  }
  at("gpu-start").click();
  await until("the card", () => !at("gpu-start").disabled, 4000);
  log(at("gpu-status").textContent);
  page().querySelectorAll("#gpu-table tr").forEach((row) => log([...row.children].map((it) => it.textContent).join(": ")));
  await looked();
}

run(steps);
