// SPDX-License-Identifier: Apache-2.0
// Keys of all pages: see the list in layout.html.

const typing = (e) => e.target.closest?.("input, textarea, select, [contenteditable]");
const items = () => [...document.querySelectorAll("[data-item], .hit h2 a")];

function step(by) {
  const list = items();
  if (!list.length) return;
  const at = list.findIndex((a) => a === document.activeElement || a.closest(".hit, tr")?.contains(document.activeElement));
  const next = list[Math.min(Math.max(at + by, 0), list.length - 1)];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

const actions = {
  "/": () => {
    const box = document.querySelector("#q");
    if (box) box.select(), box.focus();
    else document.querySelector(".brand").click();
  },
  j: () => step(1),
  k: () => step(-1),
  c: () => document.activeElement.closest(".hit")?.querySelector(".copy")?.click(),
  n: () => document.querySelector('a[rel="next"]')?.click(),
  p: () => document.querySelector('a[rel="prev"]')?.click(),
  "?": () => document.querySelector("#keys").showModal(),
};

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || typing(e) || document.querySelector("dialog[open]")) return;
  const action = actions[e.key];
  if (!action) return;
  e.preventDefault();
  action();
});
