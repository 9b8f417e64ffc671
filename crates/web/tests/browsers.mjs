// Parts of the tests of pages: browsers, a server of the package, and a session with Chromium's developer tools.

import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { delimiter, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { folder, temporary } from "./common.mjs";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".json": "application/json", ".svg": "image/svg+xml" };
const FRAME = "<!doctype html><meta charset=utf-8><body style='margin: 0'><script src=/frame.js></script><script src=/steps.js></script>";
const script = (name) => readFileSync(fileURLToPath(new URL(name, import.meta.url)));

const CHROMIUM = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync", "--lang=en", "--remote-debugging-port=0"];
/** Browsers by their names: the programs that they may be, and the arguments that open an address with an empty profile. */
export const BROWSERS = {
  Chromium: {
    programs: ["chromium", "chromium-browser", "google-chrome"],
    opening: (profile, isDark) => [...CHROMIUM, `--user-data-dir=${profile}`, `--blink-settings=preferredColorScheme=${isDark ? 0 : 1}`],
  },
  Firefox: {
    programs: ["firefox-esr", "firefox"],
    opening(profile, isDark) {
      const settings = { "ui.systemUsesDarkTheme": Number(isDark), "intl.accept_languages": "en", "browser.shell.checkDefaultBrowser": false, "datareporting.policy.dataSubmissionEnabled": false, "app.update.enabled": false };
      const lines = Object.entries(settings).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
      writeFileSync(join(profile, "user.js"), lines.join("\n"));
      return ["--headless", "--no-remote", "--profile", profile];
    },
  },
};

export function found(programs) {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.flatMap((folder) => programs.map((name) => join(folder, name))).find(existsSync);
}

/** A server of the package, and of `steps` which `tell` their lines, with its address; `change` gets the path and the bytes of a file, and answers others. */
async function serving(steps, tell, change = (_, bytes) => bytes) {
  let isOffline = false;
  const server = createServer((request, response) => {
    const path = new URL(request.url, "http://page").pathname;
    const send = (type, body) => response.writeHead(200, { "content-type": type }).end(body);
    if (path === "/log") {
      let body = "";
      request.on("data", (part) => (body += part)).on("end", () => (send("text/plain", ""), tell(body.split("\n"))));
    } else if (path === "/frame") send("text/html", FRAME);
    else if (path === "/frame.js") send("text/javascript", script("frame.js"));
    else if (path === "/steps.js") send("text/javascript", script(steps));
    else if (path === "/offline") send("text/plain", String((isOffline = true)));
    else if (isOffline) request.socket.destroy();
    else {
      const file = join(folder, path === "/" ? "index.html" : path);
      if (existsSync(file)) send(TYPES[extname(file)] ?? "application/octet-stream", change(path, readFileSync(file)));
      else response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, address: `http://127.0.0.1:${server.address().port}/` };
}

/** The lines that the `steps` tell in the `browser`, a program, which is opened by these arguments. */
export async function told(browser, opening, steps) {
  let tell;
  const log = new Promise((resolve) => (tell = resolve));
  const { server, address } = await serving(steps, tell);
  const profile = temporary();
  const child = spawn(browser, [...opening(profile), `${address}frame`], { stdio: "ignore", detached: true });
  const timer = setTimeout(() => tell(["no log within five minutes"]), 300_000);
  const lines = await log;
  clearTimeout(timer);
  await closed(child, [server], profile);
  return lines;
}

/**
 * What the page at the first of these origins tells in the browser: the body that it posts to `/told`. An origin has `fileAt`,
 * the file at a path, and `headersAt`, which gets the addresses of all origins.
 */
export async function toldBy(browser, opening, origins) {
  let tell;
  const message = new Promise((resolve) => (tell = resolve));
  const addresses = [];
  const servers = origins.map(({ fileAt, headersAt = () => ({}) }) => createServer((request, response) => {
    const path = new URL(request.url, "http://page").pathname;
    const file = fileAt(path);
    if (path === "/told") {
      let body = "";
      request.on("data", (part) => (body += part)).on("end", () => (response.end(), tell(body)));
    } else if (existsSync(file)) {
      const type = TYPES[extname(file)] ?? "application/octet-stream";
      response.writeHead(200, { "content-type": type, ...headersAt(addresses) }).end(readFileSync(file));
    } else response.writeHead(404).end();
  }));
  for (const server of servers) {
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    addresses.push(`http://127.0.0.1:${server.address().port}`);
  }
  const profile = temporary();
  // The page is told where the others are.
  const child = spawn(browser, [...opening(profile), `${addresses[0]}/#${addresses.join()}`], { stdio: "ignore", detached: true });
  const timer = setTimeout(() => tell("no word within two minutes"), 120_000);
  const text = await message;
  clearTimeout(timer);
  await closed(child, servers, profile);
  return text;
}

/** Ends the processes that a browser leaves for a moment: they write to its profile. */
function endGroup(pid) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

async function closed(child, servers, profile) {
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill();
  await ended;
  endGroup(child.pid);
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 300 });
}

/**
 * What `use` answers in a session with the page in Chromium, which gets `call(method, params)` of the developer tools and
 * `evaluate(expression)` in the page. `page` is a file of the package, or the address of another server. `more` are arguments of
 * the browser, and `change` is that of the server.
 */
export async function inChromium(browser, page, use, { isDark = false, more = [], change } = {}) {
  const { server, address } = await serving("steps.js", undefined, change);
  const profile = temporary();
  const opening = BROWSERS.Chromium.opening(profile, isDark).filter((it) => !it.startsWith("--remote"));
  const child = spawn(browser, [...opening, ...more, "--remote-debugging-pipe"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], detached: true });
  const answers = [];
  let text = "";
  child.stdio[4].setEncoding("utf8").on("data", (part) => {
    const messages = (text += part).split("\0");
    text = messages.pop();
    messages.map((it) => JSON.parse(it)).forEach(({ id, result, error }) => id && answers[id](result ?? error));
  });
  const send = (method, params, sessionId) => new Promise((resolve) => {
    const id = (answers.length ||= 1);
    answers[id] = resolve;
    child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
  });
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const call = (method, params = {}) => send(method, params, sessionId);
  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  await call("Page.navigate", { url: new URL(page, address).href });
  try {
    await evaluate(`new Promise((resolve) => (document.readyState === "complete" ? resolve() : onload = resolve))`);
    return await use({ call, evaluate });
  } finally {
    await closed(child, [server], profile);
  }
}

/** Waits in a page until an expression is true. */
export const until = (evaluate, condition) => evaluate(`new Promise((resolve, reject) => {
  const end = Date.now() + 150000;
  const isTrue = () => {
    try {
      return ${condition};
    } catch {
      return false;
    }
  };
  const look = () => isTrue() ? resolve(true) : Date.now() > end ? reject(new Error(${JSON.stringify(condition)} + ": " + document.getElementById("status").textContent)) : setTimeout(look, 50);
  look();
})`);

/** Gives the file or the folder at a path to an input of a page, as its reader does. */
export async function give({ call }, id, path) {
  const { root } = await call("DOM.getDocument");
  const { nodeId } = await call("DOM.querySelector", { nodeId: root.nodeId, selector: `#${id}` });
  const { message } = await call("DOM.setFileInputFiles", { nodeId, files: [path] });
  if (message) throw new Error(`${path}: ${message}`);
}
