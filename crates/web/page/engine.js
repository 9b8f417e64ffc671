// A worker of the paper's page, and the calls that wait for it.

export class Engine {
  #waiting = new Map();
  #count = 0;
  #worker;

  constructor(file = "paper-worker.js") {
    this.#worker = new Worker(new URL(file, import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data: { id, result, error } }) => {
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) resolve(result);
      else reject(new Error(error));
    };
    this.#worker.onerror = (event) => {
      this.#waiting.forEach(({ reject }) => reject(new Error(event.message || "the worker does not start")));
      this.#waiting.clear();
    };
  }

  /**
   * What the worker answers to `method`.
   * @param {string} method
   * @param {unknown} [argument]
   * @returns {Promise<any>}
   */
  call(method, argument) {
    const id = this.#count++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, method, argument });
    });
  }

  end() {
    this.#worker.terminate();
  }
}
