// SPDX-License-Identifier: Apache-2.0
// Answers and completions while typing. The page works without it: it only requests the same pages sooner.

const quiet = 100; // ms without a key before anything is requested
const form = document.querySelector(".ask");
const box = form.querySelector("#q");
const list = form.querySelector("#completions");
const found = document.querySelector("#found");

// latest runs a request after a pause, at most one at a time; what was typed meanwhile is requested once, at the end.
function latest(run) {
  let timer, busy = false, again = false;
  const go = async () => {
    if (busy) return void (again = true);
    busy = true;
    try {
      await run();
    } catch {
      // The page stays as it is; submitting the form shows what is wrong.
    }
    busy = false;
    if (again) again = false, go();
  };
  return () => {
    clearTimeout(timer);
    timer = setTimeout(go, quiet);
  };
}

const address = () => {
  const query = new URLSearchParams(new FormData(form));
  if (!query.get("q").trim()) return form.action;
  return form.action + "?" + query;
};

async function load(url) {
  const answer = await fetch(url, { headers: { accept: "text/html" } });
  if (!answer.ok) return null;
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

let shown = location.search; // what the page shows the answer to

const answer = latest(async () => {
  const url = address();
  if (new URL(url).search === shown) return;
  const page = await load(url);
  const part = page?.querySelector("#found");
  if (!part) return;
  found.replaceChildren(...part.childNodes);
  document.title = page.title;
  if (url !== location.href) history.replaceState(null, "", url);
  shown = location.search;
  document.querySelector("#announce").textContent = found.querySelector("#count")?.textContent ?? "";
});

const complete = latest(async () => {
  const typed = box.value;
  if (box.selectionStart !== typed.length || !/\S$/.test(typed)) return close();
  const answer = await fetch(box.dataset.complete + "?" + new URLSearchParams({ q: typed }));
  if (!answer.ok || box.value !== typed || document.activeElement !== box) return;
  const [, texts, counts] = await answer.json();
  open(texts.map((text, i) => ({ text, count: counts[i] })).filter((c) => c.text !== typed));
});

let at = -1;

function open(choices) {
  at = -1;
  list.replaceChildren(...choices.map(({ text, count }, i) => {
    const item = document.createElement("li");
    item.id = "completion-" + i;
    item.role = "option";
    item.ariaSelected = "false";
    const word = document.createElement("bdi"), number = document.createElement("span");
    word.textContent = text;
    number.textContent = count;
    number.className = "n";
    item.append(word, number);
    item.addEventListener("mousedown", (e) => e.preventDefault());
    item.addEventListener("click", () => choose(i));
    return item;
  }));
  list.hidden = choices.length === 0;
  box.ariaExpanded = String(!list.hidden);
  box.removeAttribute("aria-activedescendant");
}

const close = () => open([]);

function move(by) {
  const n = list.children.length;
  list.children[at]?.setAttribute("aria-selected", "false");
  at = (at + by + n + 1 + 1) % (n + 1) - 1;
  const item = list.children[at];
  if (!item) return box.removeAttribute("aria-activedescendant");
  item.ariaSelected = "true";
  box.setAttribute("aria-activedescendant", item.id);
}

function choose(i) {
  box.value = list.children[i].firstChild.textContent + " ";
  close();
  box.focus();
  answer();
}

box.role = "combobox";
box.setAttribute("aria-autocomplete", "list");
box.setAttribute("aria-controls", list.id);
box.ariaExpanded = "false";
box.addEventListener("input", () => {
  answer();
  complete();
});
box.addEventListener("blur", close);
box.addEventListener("keydown", (e) => {
  if (e.isComposing) return;
  if (e.key === "Escape") { // browsers would empty the box, and with it the page
    e.preventDefault();
    return list.hidden ? box.blur() : close();
  }
  if (e.key === "Enter" && at >= 0) return e.preventDefault(), choose(at);
  if (e.key !== "ArrowDown" && e.key !== "ArrowUp" || list.hidden) return;
  e.preventDefault();
  move(e.key === "ArrowDown" ? 1 : -1);
});

// A search that was answered while typing is a step of its own once its words are complete.
form.addEventListener("submit", (e) => {
  close();
  if (address() !== location.href) return;
  e.preventDefault();
  if (history.state !== "kept") history.replaceState("kept", ""), history.pushState(null, "");
  box.blur();
  document.querySelector(".hit h2 a")?.focus();
});

// Back and forward between such steps change the address alone: the page must follow.
addEventListener("popstate", () => {
  if (location.search === shown) return;
  box.value = new URLSearchParams(location.search).get("q") ?? "";
  answer();
});
