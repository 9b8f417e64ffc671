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
    this.#worker.onerror = (event) => {
      this.#waiting.forEach(({ reject }) => reject(new Error(event.message || "the worker does not start")));
      this.#waiting.clear();
    };
  }

  /**
   * What the worker answers to `method`.
   * @param {string} method
   * @param {unknown} [argument]
   * @param {(step: string) => void} [tell] is called with each step that the worker names on its way
   * @returns {Promise<any>}
   */
  call(method, argument, tell) {
    const id = this.#count++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, tell });
      this.#worker.postMessage({ id, method, argument });
    });
  }

  /** Begins anew with a worker in the place of one that panicked or has no memory left. */
  restart() {
    this.end();
    this.#waiting.forEach(({ reject }) => reject(new Error("the worker was ended")));
    this.#waiting.clear();
    this.#start();
  }

  end() {
    this.#worker.terminate();
  }
}
