// SPDX-License-Identifier: Apache-2.0
// Where the pointer is in one chart, all charts show their values at that moment.

let share = null; // of the axis, 0 to 1; null: the pointer is elsewhere

const three = (v) => (v >= 100 ? v.toFixed(0) : String(+v.toPrecision(3)));

function number(v, suffix) {
  if (!suffix) return v >= 1000 ? Math.round(v).toLocaleString("en") : three(v);
  const step = v < 1 ? 0 : Math.min(Math.floor(Math.log10(v) / 3), 4);
  return three(v / 1000 ** step) + " " + ["", "k", "M", "G", "T"][step] + suffix;
}

function show() {
  const charts = document.querySelector(".charts");
  if (!charts) return;
  for (const figure of charts.querySelectorAll(".chart")) {
    const values = figure.dataset.values.split(","), text = figure.querySelector(".value");
    const cursor = figure.querySelector(".cursor");
    if (share === null) {
      cursor.setAttribute("d", "");
      if (text.dataset.now) text.textContent = text.dataset.now, delete text.dataset.now;
      continue;
    }
    text.dataset.now ||= text.textContent;
    const value = values[Math.min(Math.floor(share * values.length), values.length - 1)];
    text.textContent = value === "" ? "–" : number(+value, figure.dataset.suffix);
    cursor.setAttribute("d", `M${share * cursor.viewportElement.viewBox.baseVal.width} 0V160`);
  }
  const { from, to } = charts.dataset;
  const moment = document.querySelector("#moment");
  moment.textContent = share === null ? "" : new Date(+from + share * (to - from)).toISOString().slice(0, 19).replace("T", " ") + " UTC";
}

document.addEventListener("pointermove", (e) => {
  const plot = e.target.closest?.(".plot");
  const before = share;
  if (plot) {
    const box = plot.getBoundingClientRect();
    share = Math.min(Math.max((e.clientX - box.left) / box.width, 0), 1);
  } else {
    share = null;
  }
  if (share !== before) show();
});
document.addEventListener("live", () => {
  for (const text of document.querySelectorAll(".value[data-now]")) delete text.dataset.now;
  show();
});
