// SPDX-License-Identifier: Apache-2.0
// The browser, and what is checked of every page that it shows.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import puppeteer from "puppeteer-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const counts = { checks: 0, failures: 0 };

// check counts a check; one that fails is printed.
export function check(what, ok, found = "") {
  counts.checks++;
  if (ok) return;
  counts.failures++;
  console.log(`FAIL ${what} ${typeof found === "string" ? found : JSON.stringify(found)}`);
}

// Names of the synthetic webs lead to this machine, so that a request that should not leave would arrive.
export const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--hide-scrollbars", "--disable-dev-shm-usage", "--host-resolver-rules=MAP *.example 127.0.0.1",
    "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests"], // the server must refuse, not the browser
});

// open makes a tab in which nothing may go wrong: no error on the console, no dialog, no request to another origin.
export async function open(origin, width = 1280, scheme = "light") {
  const page = await browser.newPage();
  await page.setViewport({ width, height: width < 500 ? 700 : 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  page.on("pageerror", (e) => check("no error in a script", page.leaves, e.message));
  page.on("console", (m) => {
    if (m.type() === "error" && !page.expected?.test(m.text())) check("nothing on the console", false, m.text() + " " + (m.location()?.url ?? ""));
  });
  page.on("dialog", async (d) => (check("no dialog", page.leaves, d.message()), await d.dismiss()));
  const stays = (r) => page.leaves || r.url().startsWith(origin) || r.url().startsWith("data:");
  page.on("requestfinished", (r) => check("requests stay here", stays(r), r.url()));
  // One that our policy blocks fails without an error of the network. (The stranger's server is asked, too, what came.)
  page.on("requestfailed", (r) => check("requests stay here", stays(r) || !r.failure(), r.url()));
  return page;
}

// shut closes a tab. Puppeteer waits without end for a tab that moves to another process just then, as pages that lead
// elsewhere do: such a one goes with the browser.
export const shut = (page) => Promise.race([page?.close(), sleep(5000)]);

// ended closes the browser, or kills it.
export async function ended() {
  await Promise.race([browser.close(), sleep(10000)]);
  browser.process()?.kill("SIGKILL");
}

// accessible runs axe, and looks at what axe does not: nothing is wider than the window.
export async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run(document, { iframes: false }));
  for (const v of violations) check("axe: " + what, false, `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")}`);
  counts.checks++;
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check("no wider than the window: " + what, over <= 0, String(over));
}

export const value = (page, selector) => page.$eval(selector, (e) => e.textContent.trim());
