// A worker of the paper's page, and the calls that wait for it.

export class Engine {
  #waiting = new Map();
  #count = 0;
  #file;
  #worker;

  constructor(file = "paper-worker.js") {
    this.#file = file;
    this.#start();
  }

  #start() {
    this.#worker = new Worker(new URL(this.#file, import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data: { id, result, error, step } }) => {
      const { resolve, reject, tell } = this.#waiting.get(id);
      if (step !== undefined) return tell?.(step);
      this.#waiting.delete(id);
      if (error === undefined) resolve(result);
      else reject(new Error(error));
    };
    this.#worker.onerror = (event) => this.end(event.message || "the worker does not start");
  }

  /**
   * What the worker answers to `method`.
   * @param {string} method
   * @param {unknown} [argument]
   * @param {(step: string) => void} [tell] is called with each step that the worker names on its way
   * @returns {Promise<any>}
   */
  call(method, argument, tell) {
    if (!this.#worker) this.#start();
    const id = this.#count++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, tell });
      this.#worker.postMessage({ id, method, argument });
    });
  }

  /** Ends the worker, which panicked or has no memory left, and rejects the calls that wait. The next call starts another one. */
  end(reason = "the worker was ended") {
    this.#worker?.terminate();
    this.#worker = null;
    this.#waiting.forEach(({ reject }) => reject(new Error(reason)));
    this.#waiting.clear();
  }
}
