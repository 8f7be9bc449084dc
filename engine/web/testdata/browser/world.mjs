// SPDX-License-Identifier: Apache-2.0
// What the test needs beside a browser: webs to crawl, and seine itself.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { existsSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const seine = process.env.SEINE ?? "bin/seine";
const children = [];

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

// address waits for the address with the token that a server prints.
export const address = (child) => until("an address", () => child.text.match(/http:\/\/127\.0\.0\.1:\d+\/\S*token=\S+/)?.[0]);

// simweb serves a synthetic web, and returns the flags with which it is crawled.
export async function simweb(name, ...args) {
  for (const f of ["hosts", "seeds"]) rmSync(`${name}.${f}`, { force: true });
  run("simweb", "--hosts-file", `${name}.hosts`, "--seeds-file", `${name}.seeds`, ...args);
  await until("a web", () => existsSync(`${name}.seeds`));
  return ["--seeds", `${name}.seeds`, "--hosts", `${name}.hosts`, "--allow-private", "--scope", "any"];
}

const evil = `<script>window.pwned=1;alert(1)</script><img src=x onerror="window.pwned=1;alert(1)">\u202egnp.exe`;
const text = (s) => s.replace(/[&<"]/g, (c) => `&#${c.charCodeAt(0)};`);

// hostile serves pages that a stranger made to hurt who looks at them. It returns the address, and what was requested
// of it by others than the crawler.
export async function hostile() {
  const visits = [];
  const pages = {
    "/": `<html lang=en><title>trapped ${text(evil)}</title><p>The trapped net ${text(evil)} is here.
      <a href="/acts">${text(evil)}</a> <a href="/wide">wide</a> <a href="/hebrew">עברית</a>`,
    "/acts": `<title>trapped copy</title><p>A trapped net that acts.<script>window.top.pwned=1;
      fetch("/api/v1/crawl/stop",{method:"POST"}); top.location="/pwned"</script>
      <meta http-equiv=refresh content="0;url=/visited?meta"><img src="/visited?img"><link rel=stylesheet href="/visited?css">
      <iframe src="/visited?frame"></iframe><form action="/visited?form"><button id=b>Press</button></form>
      <style>@import "/visited?import"; body { background: url(/visited?background) } body::before { position: fixed; inset: 0; content: "over" }</style>
      <a id=out href="/wide">a link of the copy</a>`,
    "/wide": `<title>trapped ${"W".repeat(5000)}</title><p>${"trapped" + "x".repeat(5000)} trapped`,
    "/hebrew": `<html lang=he><title>רשת trapped \u202e</title><p>רשת דיג trapped.`,
  };
  const server = createServer((request, response) => {
    if (!/seine/.test(request.headers["user-agent"] ?? "")) visits.push(request.url);
    const page = pages[request.url.split("?")[0]];
    response.writeHead(page ? 200 : 404, { "content-type": "text/html; charset=utf-8", "x-evil": "<script>alert(1)</script>" });
    response.end(page);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, visits, url: `http://127.0.0.1:${server.address().port}/` };
}

export async function end() {
  for (const child of children) if (child.exitCode === null) child.kill("SIGINT");
  await Promise.all(children.map((child) => child.ended));
}
