// Replaces a drawn chart by a live one where scripts run: tooltips, zoom, download.
// A chart is made when it comes into view; without this file the page says the same.
"use strict";

let charts = {};

// Called by the data file of each page.
function leaselabCharts(specs) {
  charts = specs;
}

async function enliven(place) {
  const spec = charts[place.dataset.chart];
  if (!spec || !globalThis.vegaEmbed) return;
  const live = document.createElement("div");
  await globalThis.vegaEmbed(live, spec, {
    renderer: "svg",
    actions: { export: true, source: false, compiled: false, editor: false },
    tooltip: { theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light" },
  });
  place.replaceChildren(live);
  place.classList.add("live");
}

document.addEventListener("DOMContentLoaded", () => {
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      seen.unobserve(entry.target);
      enliven(entry.target);
    }
  }, { rootMargin: "200px" });
  for (const place of document.querySelectorAll("[data-chart]")) seen.observe(place);
});
