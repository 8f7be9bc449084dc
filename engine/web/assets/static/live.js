// SPDX-License-Identifier: Apache-2.0
// Keeps the parts of a page that are marked data-live as the server would draw them now. An event of the server is only
// the reason to request the page again, so every number is written in one place, and what did not change stays.

const events = document.body.dataset.events;
const every = 2000; // ms between requests where there are no events
const patience = 30000; // ms for an answer, as long as the server takes at most

// morph makes one element like another, and touches only what differs.
function morph(old, now) {
  for (const { name } of [...old.attributes]) if (!now.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const before = [...old.childNodes], after = [...now.childNodes];
  after.forEach((node, i) => {
    const have = before[i];
    if (!have) old.append(node);
    else if (have.nodeName !== node.nodeName) have.replaceWith(node);
    else if (node.nodeType === Node.ELEMENT_NODE) morph(have, node);
    else if (have.data !== node.data) have.data = node.data;
  });
  before.slice(after.length).forEach((node) => node.remove());
}

let busy = false, seen = new Date();

// away says that the page is of the past: a server ends with its crawl, and what it said last must not look like now.
function away() {
  for (const place of document.querySelectorAll("#state, .big")) {
    const dot = place.querySelector(".dot");
    dot.className = "dot look";
    place.replaceChildren(dot, `no answer since ${seen.toISOString().slice(11, 19)} UTC`);
  }
}

async function refresh() {
  if (busy || document.hidden) return;
  busy = true;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" }, signal: AbortSignal.timeout(patience) });
    if (!answer.ok) throw new Error(answer.status); // of a proxy, too, whose server is gone
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const now = page.getElementById(part.id);
      if (now) morph(part, now);
    }
    document.dispatchEvent(new Event("live"));
    seen = new Date();
  } catch {
    away(); // The next event, or the next look, tries again.
  }
  busy = false;
}

const source = new EventSource(events);
let timer = 0;
source.addEventListener("status", refresh);
source.addEventListener("error", () => {
  refresh();
  if (source.readyState === EventSource.CLOSED) timer ||= setInterval(refresh, every);
});
document.addEventListener("visibilitychange", refresh);
