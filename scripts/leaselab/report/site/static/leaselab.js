// Replaces a drawn chart by a live one where scripts run: tooltips, zoom, download.
// The library and the data of the page are fetched when the first chart is pointed at, touched,
// reached by the keyboard or unfolded; without this file the page says the same.
"use strict";

const needed = document.currentScript.dataset.needed.split(" ");
let charts = {};
let looks = {};
let parts = [];
let fetched;

// Called by the data file of each page.
function leaselabCharts([specs, config, shared]) {
  charts = specs;
  looks = config;
  parts = shared;
}

// A chart with the parts to which it refers; the page has its legend.
function whole(value) {
  if (Array.isArray(value)) return value.map(whole);
  if (value === null || typeof value !== "object") return value;
  if ("$" in value) return whole(parts[value.$]);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, name === "legend" ? null : whole(inner)]));
}

function fetchNeeded() {
  fetched ??= Promise.all(needed.map((source) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = source;
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  })));
  return fetched;
}

async function enliven(place) {
  if (place.dataset.asked) return;
  place.dataset.asked = "yes";
  await fetchNeeded();
  const spec = whole(charts[place.dataset.chart]);
  const live = document.createElement("div");
  await globalThis.vegaEmbed(live, { ...spec, config: { ...looks, legend: { disable: true } } }, {
    renderer: "svg",
    actions: { export: true, source: false, compiled: false, editor: false },
    tooltip: { theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light" },
  });
  live.querySelector("summary").setAttribute("aria-label", "save the chart");
  place.replaceChildren(live);
  place.classList.add("live");
}

document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll("[data-chart]")) {
    for (const sign of ["pointerenter", "focusin"]) {
      place.addEventListener(sign, () => enliven(place), { once: true });
    }
    const fold = place.closest("details");
    if (fold && place.querySelector(".undrawn")) {
      fold.addEventListener("toggle", () => enliven(place), { once: true });
    }
  }
  // a link to a run opens its fold
  const opened = () => document.querySelector(`details[id="${location.hash.slice(1)}"]`)?.setAttribute("open", "");
  addEventListener("hashchange", opened);
  opened();
});
