// The folders that a reader opens, in the menu of a page.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

globalThis.location = { search: "?lang=en" };
Object.defineProperty(globalThis, "navigator", { value: { languages: [] }, configurable: true });
globalThis.fetch = async (address) => ({ json: async () => JSON.parse(readFileSync(address, "utf8")) });
const { Folders } = await import("../page/folders.js");

/** A menu as a page has it: an option has a value, and can be added and removed. */
class Menu {
  options = [{ value: "de-en" }];
  value = "de-en";
  add(option) {
    option.remove = () => this.options.splice(this.options.indexOf(option), 1);
    this.options.push(option);
  }
}
globalThis.Option = class {
  constructor(text, value) {
    Object.assign(this, { text, value });
  }
};

const filesOf = (path) => [{ webkitRelativePath: path }];

test("every opened folder has a value of its own, whatever its name and whatever was removed", () => {
  const menu = new Menu();
  const folders = new Folders(menu);
  const open = (path) => {
    const files = filesOf(path);
    folders.add(files);
    assert.equal(folders.get(menu.value), files);
    return menu.value;
  };
  const [first, second] = [open("best/config.json"), open("best/config.json")];
  folders.remove(first);
  const others = ["best/config.json", "best 2/config.json", "best 1/config.json", "runs/mine/best/config.json", ""].map(open);
  const values = menu.options.map(({ value }) => value);
  assert.equal(new Set([...values, first]).size, values.length + 1);
  assert.deepEqual(values, ["de-en", second, ...others]);
  assert.ok(!folders.has(first) && folders.has(second));
});

test("a model of the page stays in the menu", () => {
  const menu = new Menu();
  const folders = new Folders(menu);
  folders.remove("de-en");
  assert.deepEqual(menu.options.map(({ value }) => value), ["de-en"]);
});
