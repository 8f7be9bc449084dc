// SPDX-License-Identifier: Apache-2.0
// What strangers try: pages that act on whoever shows them (seine simweb --attacks), and pages of other origins.
import { setTimeout as sleep } from "node:timers/promises";
import { browser, check, open, shut } from "./browser.mjs";
import { text } from "./world.mjs";

const caught = async (site) => (await text(site.url + "caught.txt")).split("\n").filter(Boolean);

// spied returns what in a document could act, or is wider than the window.
const spied = () => {
  const found = [];
  for (const e of document.querySelectorAll("*")) {
    if (e.localName === "script" && !/^\/static\/\w+\/\w+\.js$/.test(e.getAttribute("src") ?? "")) found.push(e.outerHTML.slice(0, 200));
    for (const { name, value } of e.attributes) {
      if (/^on|^style$|^srcdoc$/.test(name) || /^\s*(javascript|data):/i.test(value) && name !== "content") found.push(`${e.localName} ${name}=${value.slice(0, 200)}`);
    }
  }
  if (window.pwned) found.push("a script ran");
  const over = document.documentElement.scrollWidth - innerWidth;
  if (over > 0) found.push(`${over} px too wide`);
  if (/[\u202a-\u202e\u2066-\u2069]/.test(document.documentElement.outerHTML)) found.push("an override of direction");
  return found;
};

const most = { copy: 40, url: 40, links: 30, "": 15 }; // pages of a kind; others: 10

// walked opens every page that a reader of the hostile pages comes to, on a telephone.
export async function walked(base, site) {
  const root = base.split("?")[0], origin = new URL(base).origin;
  const u = encodeURIComponent(site.url);
  const queue = ["?q=trapped&all=1", "?q=trapped&explain=1", `url?url=${u}`, `copy?url=${u}`, "hosts?find=example", `urls?prefix=${site.host}`, "crawl",
    "segments", "log", "report/failures", "report/traps", "?q=" + encodeURIComponent(`"'><script>window.pwned=1</script>`)];
  const seen = new Set(), kinds = {};
  let page, shown = 0;
  while (queue.length) {
    const path = queue.shift(), kind = path.split(/[?/]/)[0];
    if (/xml$/.test(kind)) continue; // the browser makes a page of its own of these
    if (seen.has(path) || (kinds[kind] ??= 0) >= (most[kind] ?? 10)) continue;
    seen.add(path);
    kinds[kind]++;
    if (shown++ % 25 === 0) {
      await shut(page);
      page = await open(origin, 320);
      page.expected = /sandbox|Content Security Policy|404/;
    }
    await page.goto(root + path, { waitUntil: "domcontentloaded" });
    const found = await page.evaluate(spied);
    check("nothing acts: " + path, found.length === 0, found);
    const frame = await page.$("iframe.stored");
    if (frame) {
      const inner = await frame.contentFrame();
      await inner.waitForSelector("body");
      await sleep(30);
      const left = await inner.evaluate(() => document.contentType !== "text/html" ? [] : [window.pwned, ...document.querySelectorAll("script, iframe, form, object, embed, meta, link, svg, [onerror], [onload]")]
        .filter(Boolean).map(String));
      check("nothing is left in the copy: " + path, left.length === 0, left);
    }
    check("no page took another's place: " + path, page.url() === root + path || page.url().startsWith(root), page.url());
    queue.push(...await page.$$eval("a[href]", (list, root) => list.map((a) => a.href).filter((h) => h.startsWith(root)).map((h) => h.slice(root.length)), root));
  }
  await shut(page);
  for (const kind of ["", "copy", "url", "urls", "links", "host", "hosts", "crawl", "report"]) check("pages of the kind " + kind, kinds[kind] > 0, kinds);
  check("every attack was looked at", [...seen].filter((p) => p.startsWith("copy?") && p.includes(encodeURIComponent(site.host))).length > 20, kinds);
  const list = await caught(site);
  check("nothing was requested of the stranger", list.length === 0, list);
}

// clicked does in stored copies what their makers hope for.
export async function clicked(base, site) {
  const root = base.split("?")[0], origin = new URL(base).origin;
  const copy = (path) => root + "copy?url=" + encodeURIComponent(site.url + path);
  const page = await open(origin);
  page.expected = /sandbox|Content Security Policy|404/;
  for (const path of ["cover", "base"]) {
    await page.goto(copy(path));
    const frame = await page.$("iframe.stored"), box = await frame.boundingBox();
    await (await frame.contentFrame()).waitForSelector("a");
    const moves = page.waitForNavigation({ timeout: 5000 }).catch(() => null);
    if (path === "cover") await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    else await (await frame.contentFrame()).click("#out");
    await moves;
    check("a click leads to a copy: " + path, page.url().startsWith(root + "copy?url="), page.url());
  }
  await page.goto(copy("forms"));
  for (const id of ["trap", "stop", "delete", "outer"]) {
    const frame = await (await page.waitForSelector("iframe.stored")).contentFrame();
    await (await frame.waitForSelector("#" + id)).click();
    await sleep(100);
    check("no form is sent: " + id, page.url() === copy("forms") && frame.url().includes("/copy/page?"), page.url() + " " + frame.url());
  }
  await shut(page);
  check("nothing was requested by clicks", (await caught(site)).length === 0, await caught(site));
  check("the pages are still there", (await text(`${root}api/v1/search?q=trapped`)).includes(site.host));
}

// alive opens the attacks themselves: each of them catches who opens it, else the checks above would prove nothing.
export async function alive(base, site) {
  for (const path of (await text(site.url + "attacks.txt")).split("\n").filter(Boolean)) {
    const before = (await caught(site)).length;
    const page = await browser.newPage();
    page.on("dialog", (d) => d.dismiss().catch(() => 0));
    await page.goto(`http://${site.host}${path}`, { timeout: 5000, waitUntil: "domcontentloaded" }).catch(() => 0);
    let after = before;
    for (let i = 0; i < 30 && after === before; i++) await sleep(50), after = (await caught(site)).length;
    check("the attack is live: " + path, after > before);
    await shut(page);
  }
}

// foreign tries what pages of other origins can: at another port of this machine, whose requests carry our cookie, and
// of another site.
export async function foreign(base, site) {
  const root = base.split("?")[0], origin = new URL(base).origin, target = "blocked.example";
  const own = await open(origin); // the browser has a session
  await own.goto(base);
  for (const [place, from] of [["another port", `http://127.0.0.1:${new URL(site.url).port}/text`], ["another site", `http://${site.host}/text`]]) {
    const sent = [];
    const visitor = async () => {
      const page = await browser.newPage();
      const cdp = await page.createCDPSession();
      await cdp.send("Network.enable");
      cdp.on("Network.requestWillBeSentExtraInfo", ({ headers }) => {
        const h = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k.toLowerCase(), v]));
        if (h.host === new URL(origin).host || h[":authority"]) sent.push(h.cookie ?? "");
      });
      await page.goto(from);
      return page;
    };
    // Clickjacking: a frame round a page of ours shows nothing of it.
    let page = await visitor();
    for (const path of ["", "crawl", `host?host=${site.host}`, `copy?url=${encodeURIComponent(site.url)}`, `copy/page?url=${encodeURIComponent(site.url)}`, "api/v1/index"]) {
      for (const tag of ["iframe", "object", "embed"]) {
        await page.evaluate((tag, address) => new Promise((resolve) => {
          const e = document.createElement(tag);
          e[tag === "object" ? "data" : "src"] = address;
          e.onload = e.onerror = resolve;
          setTimeout(resolve, 1000);
          document.body.replaceChildren(e);
        }), tag, root + path);
        const shown = await Promise.all(page.frames().slice(1).map((f) => f.evaluate(() => document.URL + " " + document.body?.innerText).catch(() => "")));
        check(`${tag} of ${place} round ${path || "the front page"} shows nothing`, shown.every((t) => !t.includes(root) && !/seine|Search|trapped/.test(t)), shown);
      }
    }
    // Reading: answers of ours are no pictures, scripts or texts of others.
    const read = await page.evaluate(async (root) => {
      const got = [];
      for (const path of ["crawl", "api/v1/status", "api/v1/search?q=net"]) {
        for (const credentials of ["include", "omit"]) await fetch(root + path, { credentials }).then((a) => a.text()).then((t) => got.push(path, t.slice(0, 99)), () => 0);
      }
      const load = (e, at, value) => new Promise((resolve) => (e.onload = () => (got.push(value), resolve()), e.onerror = resolve, e[at] = value, document.body.append(e)));
      await load(new Image(), "src", root + "favicon.ico");
      await load(document.createElement("script"), "src", root + "api/v1/index");
      await new Promise((resolve) => {
        const events = new EventSource(root + "api/v1/events", { withCredentials: true });
        events.onopen = () => (got.push("events"), resolve());
        events.onerror = () => (events.close(), resolve());
      });
      return got;
    }, root);
    check(`a page of ${place} reads nothing`, read.length === 0, read);
    // Writing, with and without the cookie.
    await page.evaluate(async (root, host) => {
      const body = "host=" + host, json = JSON.stringify({ hosts: [host] });
      for (const credentials of ["include", "omit"]) {
        for (const mode of ["cors", "no-cors"]) {
          await fetch(root + "act/block", { method: "POST", mode, credentials, body, headers: { "content-type": "application/x-www-form-urlencoded" } }).catch(() => 0);
          await fetch(root + "api/v1/hosts/block", { method: "POST", mode, credentials, body: json, headers: { "content-type": mode === "cors" ? "application/json" : "text/plain" } }).catch(() => 0);
        }
      }
      navigator.sendBeacon(root + "act/block", new URLSearchParams(body));
    }, root, target);
    for (const kind of ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"]) {
      await page.goto(from);
      await page.evaluate((action, host, kind) => {
        document.body.innerHTML = `<form method=post enctype="${kind}" action="${action}"><input name=host value="${host}"><button>x</button></form>`;
      }, root + "act/block", target, kind);
      await Promise.all([page.waitForNavigation(), page.click("button")]);
      const said = await page.evaluate(() => document.body.innerText);
      check(`a form of ${place} is refused on a page`, /must come from a page of this server/.test(said) && !said.includes("{"), said);
    }
    check(`requests of ${place} have ${place === "another port" ? "the" : "no"} cookie`, sent.length > 5 && sent.some((c) => c.includes("seine")) === (place === "another port"), sent);
    await shut(page);
    // A window that a stranger opened is out of its reach.
    page = await visitor();
    const opened = new Promise((resolve) => browser.once("targetcreated", resolve));
    await page.evaluate((root) => void (window.ours = open(root + "crawl")), root);
    const ours = await (await opened).page();
    await ours?.waitForSelector("h1").catch(() => 0);
    await sleep(200);
    check(`a window opened by ${place} is out of reach`, await page.evaluate(() => { try { return window.ours.closed || window.ours.length === 0 && !window.ours.document; } catch { return true; } }) &&
      await ours?.evaluate(() => window.opener === null));
    await shut(ours);
    await shut(page);
  }
  await own.goto(root + "hosts");
  check("nothing is blocked", !(await own.content()).includes(target));
  const status = await own.evaluate(async () => (await fetch("/api/v1/crawl/resume", { method: "POST" })).status);
  check("the session itself may act", status === 200, String(status));
  await shut(own);
  await rebound(origin, target);
}

// rebound is a page of a name that leads to the stranger first and to this machine then (DNS rebinding): to the browser
// our answers are of the same origin as that page.
async function rebound(origin, target) {
  const { port } = new URL(origin), evil = `http://rebound.example:${port}`;
  const page = await browser.newPage();
  await page.setRequestInterception(true);
  page.on("request", (r) => (r.url() === evil + "/" ? r.respond({ contentType: "text/html", body: "<title>evil</title>" }) : r.continue()));
  await page.goto(evil + "/");
  const got = await page.evaluate(async (host) => {
    const list = [], form = { "content-type": "application/x-www-form-urlencoded" };
    for (const path of ["/crawl", "/api/v1/index", "/api/v1/status", "/static/x/style.css", "/metrics", "/healthz", "/copy/page?url=x", "/?token=x"]) {
      await fetch(path).then(async (answer) => list.push({ path, status: answer.status, text: await answer.text() }), (e) => list.push({ path, status: 0, text: String(e) }));
    }
    const answer = await fetch("/act/block", { method: "POST", body: "host=" + host, headers: form });
    list.push({ path: "/act/block", status: answer.status, text: await answer.text() });
    return list;
  }, target);
  for (const { path, status, text } of got) check("a name that was rebound reaches nothing: " + path, status === 421 && !/pages\/s|crawl is|"documents"/.test(text), { status, text });
  const answer = await page.goto(evil + "/crawl");
  check("a foreign name is told so on a page", answer.status() === 421 && /text\/html/.test(answer.headers()["content-type"]) && /--host-name/.test(await answer.text()));
  await shut(page);
}
