// SPDX-License-Identifier: Apache-2.0
// Drives seine's pages in a real Chromium: make test-web. A check that fails is printed and counted.
import { rmSync, mkdirSync } from "node:fs";
import { alive, clicked, foreign, walked } from "./attacks.mjs";
import { accessible, check, counts, ended, open, shut, value } from "./browser.mjs";
import { address, done, end, run, simweb, until, within } from "./world.mjs";

rmSync("shots", { recursive: true, force: true });
mkdirSync("shots");

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
  // What was typed after Enter is a step of its own, and back leads from it to the one before.
  const both = await value(page, "#count"), kept = await page.$eval("#q", (q) => q.value);
  await page.keyboard.type("+zebrafinch");
  await until("no answer to a word that no page has", async () => /^0 found/.test(await value(page, "#count")));
  await page.evaluate(() => history.back());
  await until("back leads to the query before, and its hits", () => page.evaluate((both, kept) => document.querySelector("#q").value === kept &&
    document.querySelectorAll(".hit").length > 0 && document.querySelector("#count").textContent.startsWith(both), both.split(" found")[0], kept));
  await page.evaluate(() => history.forward());
  await until("forward, too", async () => /^0 found/.test(await value(page, "#count")));
  await page.evaluate(() => history.back());
  await until("hits", () => page.$(".hit"));
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
  await shut(page);

  // Without script everything is there, too.
  const plain = await open(new URL(base).origin);
  await plain.setJavaScriptEnabled(false);
  await plain.goto(base.split("?")[0] + "?q=harbour");
  check("hits without script", (await plain.$$(".hit")).length === 10);
  await shut(plain);
}

async function looking(base, site) {
  const root = base.split("?")[0], u = encodeURIComponent(site.url), host = encodeURIComponent(site.host);
  const pages = { front: "", found: "?q=harbour+storm", none: "?q=%2Bzebrafinch+lang:de", arabic: "?q=lang:ar", japanese: "?q=lang:ja", hostile: "?q=trapped",
    explain: "?q=harbour&explain=1", copy: `copy?url=${u}`, links: `links?url=${u}acts`, url: `url?url=${u}`, urls: "urls", hosts: "hosts", host: `host?host=${host}`,
    segments: "segments", crawl: "crawl", failures: "report/failures", missing: "copy?url=http%3A%2F%2Fx.example%2F" };
  for (const [width, scheme] of [[320, "light"], [320, "dark"], [768, "light"], [1280, "light"], [1280, "dark"], [2560, "dark"]]) {
    const page = await open(new URL(base).origin, width, scheme);
    page.expected = /404|sandbox/;
    await page.goto(base);
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(root + path);
      if (width < 500 || width === 1280) await accessible(page, `${name} at ${width} px, ${scheme}`);
      check(`a table is a table: ${name} at ${width} px`, await page.$$eval(".rows td", (cells) =>
        cells.every((c) => getComputedStyle(c).borderInlineStartWidth === "0px")));
      check(`no column is hidden: ${name} at ${width} px`, await page.$$eval(".scroll", (list) =>
        list.every((s) => s.scrollWidth <= s.clientWidth)));
      await page.screenshot({ path: `shots/${name}-${width}-${scheme}.png` });
    }
    await shut(page);
  }
}

// printing looks at paper: it says what was searched for, and has nothing that only a screen can use.
async function printing(base) {
  const page = await open(new URL(base).origin, 800);
  await page.goto(base);
  await page.goto(base.split("?")[0] + "?q=harbour+storm");
  await page.emulateMediaType("print");
  const seen = (selector) => page.$$eval(selector, (list) => list.some((e) => e.checkVisibility() && e.getBoundingClientRect().height > 1));
  check("paper says what was searched for", await seen("#found > h1"));
  check("paper has no buttons", !(await seen("button, .choices, .more, .facets")));
  check("paper has the hits across its width", await page.$eval(".hits", (e) => e.offsetWidth > 600));
  await page.screenshot({ path: "shots/print.png", fullPage: true });
  await shut(page);
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
  // Behind a proxy whose server is gone every answer is an error.
  const stands = () => page.$eval(".big", (e) => e.textContent);
  page.expected = /status of 502/;
  await page.setRequestInterception(true);
  const gone = (r) => (r.resourceType() === "fetch" ? r.respond({ status: 502 }) : r.continue());
  page.on("request", gone);
  await until("answers that are errors are none", async () => /^no answer since/.test(await stands()));
  page.off("request", gone);
  await page.setRequestInterception(false);
  await until("the crawl again", async () => /crawling/.test(await stands()));
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
  page.expected = /ERR_CONNECTION_REFUSED/; // the server may end before the page does
  await press("Stop");
  check("the crawl ends", (await crawl.ended) === 0, crawl.text);
  await until("a page whose server is gone says so", async () => (await page.$$eval("#state, .big", (list) =>
    list.every((e) => /^no answer since \d\d:\d\d:\d\d UTC$/.test(e.textContent) && e.querySelector(".dot.look")))));
  await shut(page);
}

// named presses a button of a server that has a name, over HTTP: of its form a browser says the origin and no more.
async function named(base) {
  const own = new URL(base);
  own.hostname = "seine.example";
  const page = await open(own.origin);
  page.expected = /Cross-Origin-Opener-Policy/; // which counts over TLS
  await page.goto(own.href);
  await page.goto(own.origin + "/crawl");
  await Promise.all([page.waitForNavigation(), page.$eval('form[action$="/act/rate"]', (form) => {
    form.delay.value = "2";
    form.querySelector("button").click();
  })]);
  check("a button of a server with a name", (await value(page, "main")).includes("The rate is set."), await value(page, "main"));
  await shut(page);
}

// besieged crawls the attacks, and looks at the dashboard meanwhile.
async function besieged(flags, site) {
  const crawl = run("crawl", "--dir", "data", "--serve", "127.0.0.1:0", "--delay", "150ms", ...flags);
  const base = await address(crawl), page = await open(new URL(base).origin, 320);
  page.leaves = true; // the crawl ends, and its server
  await page.goto(base);
  await until("a hostile host on the dashboard", async () => {
    await page.goto(base.split("?")[0] + "crawl");
    return (await page.$$("#top a")).length > 3;
  });
  check("the dashboard holds", await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && !window.pwned));
  const names = await page.$$eval("#top a", (list) => list.map((a) => a.textContent).join(" "));
  check("names that look like others are shown in punycode", /xn--80ak6aa92e/.test(names) && !/[а-я]/.test(names), names);
  await shut(page);
  if ((await crawl.ended) !== 0) throw new Error(crawl.text);
}

try {
  const flags = await simweb("web", "--web-hosts", "40", "--pages", "60", "--seed", "3");
  const attacks = await simweb("attacks", "--attacks", "--seed-hosts", "0");
  rmSync("data", { recursive: true, force: true });
  await done("crawl", "--dir", "data", "--delay", "0s", ...flags);
  const host = new URL(attacks.root).host, site = { host, url: `http://${host}/` };
  await besieged(attacks);
  const base = await address(run("serve", "--dir", "data", "--addr", "127.0.0.1:0", "--host-name", "seine.example"));
  const parts = [searching, looking, printing, walked, clicked, foreign, alive, named, crawling].filter(({ name }) => !process.env.PART || process.env.PART.split(",").includes(name));
  for (const part of parts) {
    const began = Date.now();
    await within(300, part(base, site)).catch((e) => check(part.name, false, e.stack));
    console.log(`${part.name}: ${Math.round((Date.now() - began) / 1000)} s`);
  }
} catch (e) {
  check("the test runs", false, e.stack);
}
await ended();
await end();
console.log(`${counts.checks} checks, ${counts.failures} failed; screenshots in ${process.cwd()}/shots`);
process.exit(counts.failures ? 1 : 0);
