// The folders that the reader opened, as models of a menu.

import { word } from "./words.js";

/** The opened folders of a menu, each the value of an option. */
export class Folders {
  #files = new Map();
  #menu;
  #count = 0;

  /** @param {HTMLSelectElement} menu */
  constructor(menu) {
    this.#menu = menu;
  }

  /** Puts the files of a folder into the menu and chooses them. */
  add(files) {
    const name = files[0].webkitRelativePath?.split("/").at(-2) || "model";
    this.#count += 1;
    const value = `${name} ${this.#count}`;
    this.#files.set(value, files);
    this.#menu.add(new Option(word("own", { name }), value));
    this.#menu.value = value;
  }

  /** Whether an option is a folder. */
  has(value) {
    return this.#files.has(value);
  }

  /** The files of a folder, or undefined for a model that the page names itself. */
  get(value) {
    return this.#files.get(value);
  }

  /** Removes a folder from the menu. Other models stay. */
  remove(value) {
    if (this.#files.delete(value)) [...this.#menu.options].find((option) => option.value === value).remove();
  }
}
