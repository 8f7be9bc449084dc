// SPDX-License-Identifier: Apache-2.0
// What the test needs beside a browser: webs to crawl, and seine itself.
import { spawn } from "node:child_process";
import { get } from "node:http";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const seine = process.env.SEINE ?? "bin/seine";
const children = [];
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL"))); // where the test itself failed

export function run(...args) {
  const child = spawn(seine, args, { stdio: ["ignore", "pipe", "pipe"] });
  child.text = "";
  child.stdout.on("data", (b) => (child.text += b));
  child.stderr.on("data", (b) => (child.text += b));
  child.ended = new Promise((resolve) => child.on("exit", (code) => resolve(code)));
  children.push(child);
  return child;
}

export async function done(...args) {
  const child = run(...args);
  const code = await child.ended;
  if (code !== 0) throw new Error(`seine ${args.join(" ")}: status ${code}\n${child.text}`);
  return child.text;
}

export async function until(what, test, seconds = 20) {
  for (const end = Date.now() + 1000 * seconds; Date.now() < end; await sleep(50)) {
    const found = await test();
    if (found) return found;
  }
  throw new Error("never: " + what);
}

// within rejects when work has taken so many seconds, so that what never ends is named and not waited for.
export const within = (seconds, work) => Promise.race([work, sleep(1000 * seconds).then(() => {
  throw new Error(`no end within ${seconds} s`);
})]);

// address waits for the address with the token that a server prints.
export const address = (child) => until("an address", () => child.text.match(/http:\/\/127\.0\.0\.1:\d+\/\S*token=\S+/)?.[0]);

// simweb serves a synthetic web, and returns the flags with which it is crawled, and its first seed as root.
export async function simweb(name, ...args) {
  for (const f of ["hosts", "seeds"]) rmSync(`${name}.${f}`, { force: true });
  run("simweb", "--hosts-file", `${name}.hosts`, "--seeds-file", `${name}.seeds`, ...args);
  await until("a web", () => existsSync(`${name}.hosts`)); // which is written last
  const root = readFileSync(`${name}.seeds`, "utf8").split("\n")[0];
  return Object.assign(["--seeds", `${name}.seeds`, "--hosts", `${name}.hosts`, "--allow-private", "--scope", "any"], { root });
}

// text requests a page of a synthetic web as its host, whose name only the browser resolves.
export const text = (url) => new Promise((resolve, reject) => {
  const { host, port, pathname, search } = new URL(url);
  get({ host: "127.0.0.1", port, path: pathname + search, headers: { host }, signal: AbortSignal.timeout(20000) }, (answer) => {
    let all = "";
    answer.setEncoding("utf8").on("data", (part) => (all += part)).on("end", () => resolve(all)).on("error", reject);
  }).on("error", reject);
});

export async function end() {
  for (const child of children) if (child.exitCode === null) child.kill("SIGINT");
  await Promise.all(children.map((child) => child.ended));
}
