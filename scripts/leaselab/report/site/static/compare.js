// Picks two results or builds, filters the comparisons, counts them, and copies them as Markdown;
// without this file the page has all of them.
"use strict";

(() => {
  const form = document.querySelector("form.pick");
  const { a, b, name, differ } = form.elements;
  const further = document.querySelector("#further");
  const rows = [...document.querySelectorAll("table.lines tbody tr")];
  const cells = (row) => [...row.cells].map((cell) => cell.textContent.trim().replace(/\s+/g, " "));

  // What a row can be picked by: its builds, and its results with their moments.
  const sides = new Map(rows.map((row) => [row, [...row.querySelectorAll("[data-build]")].map((cell, place) => ({
    build: cell.dataset.build,
    id: row.dataset.ids.split(" ")[place],
  }))]));

  function options(title, values) {
    const group = document.createElement("optgroup");
    group.label = title;
    group.append(...[...values].sort().map((value) => new Option(value, value)));
    return group;
  }
  for (const select of [a, b]) {
    const every = [...sides.values()].flat();
    select.append(options("builds", new Set(every.map((side) => side.build))));
    select.append(options("results", new Set(every.map((side) => side.id))));
  }

  const is = (side, wanted) => !wanted || side.build === wanted || side.id === wanted;

  function shown(row) {
    const [one, two] = sides.get(row);
    const either = (is(one, a.value) && is(two, b.value)) || (is(one, b.value) && is(two, a.value));
    return either && (a.value || b.value || !further?.contains(row))
      && row.cells[0].textContent.includes(name.value) && (!differ.checked || "differs" in row.dataset);
  }

  const visible = () => rows.filter((row) => !row.hidden);

  function update() {
    for (const row of rows) row.hidden = !shown(row);
    if (further) {
      const any = visible().some((row) => further.contains(row));
      further.hidden = !any;
      further.open = any;
    }
    const counts = new Map([["slower", 0], ["faster", 0], ["equal", 0]]);
    for (const word of visible().map((row) => row.dataset.word).sort()) counts.set(word, (counts.get(word) ?? 0) + 1);
    document.querySelector("#counts").textContent = [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
  }

  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.querySelector("button").addEventListener("click", async () => {
    const heading = [...document.querySelectorAll("table.lines")[0].tHead.rows[0].cells].map((cell) => cell.textContent);
    const lines = [heading, heading.map(() => "---"), ...visible().map(cells)]
      .map((line) => `| ${line.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`);
    const text = document.createElement("textarea");
    text.value = lines.join("");
    text.readOnly = true;
    text.setAttribute("aria-label", "The comparisons as Markdown");
    form.querySelector("output").replaceChildren(text);
    text.select();
    await navigator.clipboard?.writeText(text.value).catch(() => document.execCommand("copy"));
  });
  form.hidden = false;
})();
