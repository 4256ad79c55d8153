// Follows a running sweep: asks for its state once a second and draws it.
"use strict";

function showFacts(facts) {
  const list = document.getElementById("facts");
  list.replaceChildren(...Object.entries(facts).flatMap(([label, words]) => {
    const term = document.createElement("dt");
    const description = document.createElement("dd");
    term.textContent = label;
    description.textContent = words;
    return [term, description];
  }));
}

const NARROW = 640; // px, below which legends stand above their panels
const AXIS = 70; // px that the axis of a panel takes
const LEGEND = 170; // px that a legend beside it takes
const LOWER = 30; // px by which a panel is lower on a wall, which does not scroll

// The chart as wide as its place: on a phone it would be cut, on a wall too small.
function fitted(chart, place) {
  const room = place.clientWidth;
  if (!chart.vconcat) return { ...chart, width: room - AXIS };
  const beside = room >= NARROW;
  const width = room - AXIS - (beside ? LEGEND : 0);
  const placed = (layer) => !beside && layer.encoding.color
    ? { ...layer, encoding: { ...layer.encoding, color: { ...layer.encoding.color, legend: { orient: "top" } } } }
    : layer;
  const panels = chart.vconcat.map((panel) => ({ ...panel, width, height: panel.height - (beside ? LOWER : 0), layer: panel.layer.map(placed) }));
  return { ...chart, vconcat: panels };
}

async function draw(id, chart) {
  const place = document.getElementById(id);
  await globalThis.vegaEmbed(place, fitted(chart, place), { actions: false, renderer: "svg" });
}

const TRIES = 5;
let failed = 0;
let facts = {};

async function follow() {
  try {
    const state = await (await fetch("/state.json")).json();
    failed = 0;
    document.getElementById("title").textContent = state.title;
    facts = state.facts;
    showFacts(facts);
    document.getElementById("search").hidden = !state.bracket;
    if (state.bracket) await draw("bracket", state.bracket);
    document.getElementById("seconds").hidden = !state.chart;
    if (state.chart) await draw("chart", state.chart);
  } catch (error) {
    failed += 1;
    // what was last known stays, and a later sweep at this address is followed
    if (failed === TRIES) showFacts({ ...facts, phase: `no answer: the sweep or its watch has ended (${error.message})` });
  }
  setTimeout(follow, 1000);
}

document.addEventListener("DOMContentLoaded", follow);
