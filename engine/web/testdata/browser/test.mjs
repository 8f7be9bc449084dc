// SPDX-License-Identifier: Apache-2.0
// Drives seine's pages in a real Chromium: make test-web. A check that fails is printed and counted.
import { readFileSync, rmSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";
import { address, done, end, hostile, run, simweb, until } from "./world.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let checks = 0, failures = 0;

function check(what, ok, found = "") {
  checks++;
  if (ok) return;
  failures++;
  console.log(`FAIL ${what} ${typeof found === "string" ? found : JSON.stringify(found)}`);
}

rmSync("shots", { recursive: true, force: true });
mkdirSync("shots");
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--hide-scrollbars", "--disable-dev-shm-usage"],
});

// open makes a tab in which nothing may go wrong: no error on the console, no dialog, no request to another origin.
async function open(origin, width = 1280, scheme = "light") {
  const page = await browser.newPage();
  await page.setViewport({ width, height: width < 500 ? 700 : 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  page.on("pageerror", (e) => check("no error in a script", false, e.message));
  page.on("console", (m) => {
    if (m.type() === "error" && !page.expected?.test(m.text())) check("nothing on the console", false, m.text() + " " + (m.location()?.url ?? ""));
  });
  page.on("dialog", async (d) => (check("no dialog", false, d.message()), await d.dismiss()));
  page.on("request", (r) => check("requests stay here", page.leaves || r.url().startsWith(origin) || r.url().startsWith("data:"), r.url()));
  return page;
}

// accessible runs axe, and looks at what axe does not: nothing is wider than the window.
async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run(document, { iframes: false }));
  for (const v of violations) check("axe: " + what, false, `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")}`);
  checks++;
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check("no wider than the window: " + what, over <= 0, String(over));
}

const value = (page, selector) => page.$eval(selector, (e) => e.textContent.trim());

async function searching(base, site) {
  const page = await open(new URL(base).origin);
  await page.goto(base);
  check("the token is not in the address", !page.url().includes("token"), page.url());
  // Completions, and answers while typing, by keyboard alone: the box has the focus.
  await page.keyboard.type("harb", { delay: 30 });
  await page.waitForSelector("#completions li");
  check("completions", (await value(page, "#completions li")).startsWith("harb"));
  await page.keyboard.press("ArrowDown");
  check("a completion is chosen", await page.$("#completions li[aria-selected=true]"));
  await page.keyboard.press("Enter");
  await page.waitForSelector(".hit");
  await until("the query in the address", () => page.url().includes("q=harb"));
  await page.keyboard.type("storm");
  await until("answers to both words", () => page.$$eval(".hit mark", (m) => m.some((e) => /storm/i.test(e.textContent))));
  await page.keyboard.press("Enter");
  check("Enter leads to the first hit", await page.evaluate(() => document.activeElement.matches(".hit h2 a")));
  await page.keyboard.press("j");
  check("j leads to the second hit", await page.evaluate(() => [...document.querySelectorAll(".hit h2 a")].indexOf(document.activeElement) === 1));
  await page.keyboard.press("k");
  await page.keyboard.press("/");
  check("/ leads to the query", await page.evaluate(() => document.activeElement.id === "q"));
  await page.keyboard.press("Escape");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("?");
  check("? shows the keys", await page.$("dialog[open]"));
  await page.keyboard.press("Escape");
  // A filter is a word of the query; it can be removed; back works.
  const all = await value(page, "#count");
  await Promise.all([page.waitForNavigation(), page.click(".facets a")]);
  check("a filter is in the query", /\b(lang|type):/.test(await page.$eval("#q", (q) => q.value)));
  check("a filter narrows", (await value(page, "#count")) !== all);
  await page.screenshot({ path: "shots/filtered.png" });
  await Promise.all([page.waitForNavigation(), page.click(".chips a")]);
  check("a filter can be removed", (await page.$(".chips")) === null);
  const first = await value(page, ".hit h2");
  await page.evaluate(() => document.querySelector(".pages").scrollIntoView());
  await Promise.all([page.waitForNavigation(), page.keyboard.press("n")]);
  check("the next page has other hits", page.url().includes("page=2") && (await value(page, ".hit h2")) !== first);
  await page.goBack();
  check("back leads back", (await value(page, ".hit h2")) === first);
  await page.goto(base.split("?")[0] + "?q=harbuor&all=1");
  check("did you mean", (await value(page, "#better")) === "harbour");
  await page.goto(base.split("?")[0] + "?q=harbour+storm&explain=1");
  check("explanations", await page.$(".why ul li"));
  // The stored copy, whose links stay in the store.
  await page.goto(base.split("?")[0] + "?q=harbour+storm");
  await Promise.all([page.waitForNavigation(), page.click(".hit .copy")]);
  const frame = await (await page.waitForSelector("iframe.stored")).contentFrame();
  await frame.waitForSelector("p");
  check("the copy has an opaque origin", (await frame.evaluate(() => self.origin).catch(() => "null")) === "null");
  await Promise.all([page.waitForNavigation(), frame.evaluate(() => 0).catch(() => 0), frame.click("a[target=_top]")]);
  check("links of a copy lead to copies", page.url().includes("/copy?url="), page.url());
  await Promise.all([page.waitForNavigation(), page.click("a[href*='/url?']")]);
  check("the URL page", (await value(page, ".eyebrow")) === "URL");
  await Promise.all([page.waitForNavigation(), page.click("a[href*='/host?']")]);
  check("the host page", (await value(page, ".eyebrow")) === "Host");
  await page.close();

  // Without script everything is there, too.
  const plain = await open(new URL(base).origin);
  await plain.setJavaScriptEnabled(false);
  await plain.goto(base.split("?")[0] + "?q=harbour");
  check("hits without script", (await plain.$$(".hit")).length === 10);
  await plain.close();
  await hurting(base, site);
}

// hurting opens everything that the hostile pages come to, and tries what they would like to.
async function hurting(base, site) {
  const root = base.split("?")[0], u = encodeURIComponent(site.url);
  const tab = async () => {
    const page = await open(new URL(base).origin);
    page.expected = /sandbox|Content Security Policy|404/;
    return page;
  };
  for (const path of ["?q=trapped&all=1", `copy?url=${u}`, `copy?url=${u}acts`, `links?url=${u}acts`, `url?url=${u}`, `url?url=${u}acts`,
    `copy?url=${u}wide`, `copy/page?url=${u}acts`, `host?host=${encodeURIComponent(new URL(site.url).host)}`, `urls?prefix=127.0.0.1`]) {
    const page = await tab(); // a sandboxed page is in a process of its own
    await page.goto(root + path);
    await new Promise((resolve) => setTimeout(resolve, 100));
    check("nothing ran: " + path, !(await page.evaluate(() => window.pwned).catch(() => 0)));
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth).catch(() => 0);
    check("the layout holds: " + path, over <= 0 || path.startsWith("copy/page"), String(over));
    await page.close();
  }
  const page = await tab();
  check("nothing was requested of the stranger", site.visits.length === 0, site.visits);
  await page.goto(root + `?q=trapped&all=1`);
  await page.screenshot({ path: "shots/hostile.png" });
  check("hebrew is right to left", await page.$$eval(".hit[lang=he] h2", (h) => h.every((e) => getComputedStyle(e).direction === "rtl")));
  const status = await page.evaluate(async () => (await fetch("/api/v1/crawl/pause", { method: "POST", headers: { origin: "x" } })).status);
  check("the session may act", status === 200, String(status));
  await page.evaluate(() => fetch("/api/v1/crawl/resume", { method: "POST" }));
  await page.close();
  // A page of another origin: CSRF, and a frame round ours.
  const foreign = await open(site.url);
  foreign.leaves = true;
  foreign.expected = /./;
  await foreign.goto(site.url + "missing");
  await foreign.setContent(`<form method=post action="${root}act/pause"><button>x</button></form><iframe src="${root}crawl"></iframe>`);
  await Promise.all([foreign.waitForNavigation(), foreign.click("button")]);
  check("a foreign form is refused", /origin|token|403|401/.test(await foreign.evaluate(() => document.body.textContent)));
  await foreign.close();
}

async function looking(base, site) {
  const root = base.split("?")[0], u = encodeURIComponent(site.url), host = encodeURIComponent(new URL(site.url).host);
  const pages = { front: "", found: "?q=harbour+storm", none: "?q=%2Bzebrafinch+lang:de", arabic: "?q=lang:ar", japanese: "?q=lang:ja", hostile: "?q=trapped",
    explain: "?q=harbour&explain=1", copy: `copy?url=${u}`, links: `links?url=${u}acts`, url: `url?url=${u}`, urls: "urls", hosts: "hosts", host: `host?host=${host}`,
    crawl: "crawl", failures: "report/failures", missing: "copy?url=http%3A%2F%2Fx.example%2F" };
  for (const [width, scheme] of [[320, "light"], [320, "dark"], [800, "light"], [1280, "light"], [1280, "dark"], [2560, "dark"]]) {
    const page = await open(new URL(base).origin, width, scheme);
    page.expected = /404|sandbox/;
    await page.goto(base);
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(root + path);
      if (width < 500 || width === 1280) await accessible(page, `${name} at ${width} px, ${scheme}`);
      await page.screenshot({ path: `shots/${name}-${width}-${scheme}.png` });
    }
    await page.close();
  }
}

async function crawling() {
  const flags = await simweb("live", "--web-hosts", "200", "--pages", "200", "--latency", "30ms", "--seed", "5");
  rmSync("live-data", { recursive: true, force: true });
  const crawl = run("crawl", "--dir", "live-data", "--serve", "127.0.0.1:0", "--delay", "300ms", ...flags);
  const base = await address(crawl), root = base.split("?")[0];
  const page = await open(new URL(base).origin);
  page.leaves = true;
  await page.goto(base);
  await page.goto(root + "crawl");
  const figure = (name) => page.evaluate((name) => [...document.querySelectorAll(".figures div")].find((d) => d.firstElementChild.textContent === name)
    ?.lastElementChild.textContent.replaceAll(",", "") ?? "0", name).then(Number);
  const before = await figure("pages");
  await until("more pages, without a reload", async () => (await figure("pages")) > before + 20);
  await until("charts", () => page.$(".chart .line"));
  await page.hover(".plot");
  check("the moment is shown in all charts", await page.evaluate(() => /\d\d:\d\d/.test(document.querySelector("#moment").textContent) &&
    [...document.querySelectorAll(".cursor")].every((c) => c.getAttribute("d"))));
  await accessible(page, "dashboard of a live crawl");
  await page.screenshot({ path: "shots/live.png", fullPage: true });
  const press = (name) => Promise.all([page.waitForNavigation(), page.evaluate((name) =>
    [...document.querySelectorAll("main button")].find((b) => b.textContent === name).click(), name)]);
  await press("Pause");
  check("paused", /paused/.test(await value(page, ".big")), await value(page, ".big"));
  await press("Resume");
  await until("crawling again", async () => /crawling/.test(await value(page, ".big")));
  await until("top hosts", async () => (await page.goto(root + "crawl"), page.$("#top a")));
  await Promise.all([page.waitForNavigation(), page.click("#top a")]);
  await press("Block");
  check("blocked", /Blocked/.test(await value(page, ".answer h2")), await value(page, ".answer h2"));
  await page.screenshot({ path: "shots/blocked.png" });
  await press("Unblock");
  check("unblocked", !/Blocked/.test(await value(page, ".answer h2")));
  await page.goto(root + "crawl");
  await press("Stop");
  await page.close();
  check("the crawl ends", (await crawl.ended) === 0, crawl.text);
}

try {
  const flags = await simweb("web", "--web-hosts", "40", "--pages", "60", "--seed", "3");
  const site = await hostile();
  rmSync("data", { recursive: true, force: true });
  await done("crawl", "--dir", "data", "--delay", "0s", ...flags);
  await done("crawl", "--dir", "data", "--delay", "0s", "--allow-private", "--scope", "any", site.url);
  site.visits.length = 0;
  const base = await address(run("serve", "--dir", "data", "--addr", "127.0.0.1:0"));
  const parts = [searching, looking, crawling].filter((part) => !process.env.PART || part.name === process.env.PART);
  for (const part of parts) await part(base, site).catch((e) => check(part.name, false, e.stack));
  site.server.close();
} catch (e) {
  check("the test runs", false, e.stack);
}
await browser.close();
await end();
console.log(`${checks} checks, ${failures} failed; screenshots in ${process.cwd()}/shots`);
process.exit(failures ? 1 : 0);
