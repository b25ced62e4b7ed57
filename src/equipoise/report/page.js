// The page's own script: draws the pictures, filters the cases, shows the record of the run, and opens the case that
// the address names.
"use strict";

const LEAST = 130; // width of a panel that is still legible, in pixels
const LABELS = 150; // room for the rows' names, and for counts
const LETTER = 6.5; // of an axis title
const BETWEEN = 80; // between panels
const PADDING = 26; // of the box, with its border
const TRIES = 2; // to find the width of panels that fills the box
const PATIENCE = 200; // milliseconds without a change of size, before pictures are drawn anew
const ERRORS = 1; // the least that Vega logs

const arranged = (spec, room) => {
  const column = spec.facet && (spec.facet.column || (spec.facet.field && spec.facet));
  if (!column || spec.facet.row || typeof spec.spec.width !== "number") {
    return spec;
  }
  // Panels side by side while each stays legible, else one below the other.
  const panels = new Set(spec.data.values.map((row) => row[column.field])).size;
  const columns = Math.max(1, Math.min(panels, Math.floor((room - LABELS) / (200 + BETWEEN))));
  return { ...spec, facet: column, columns, spacing: { row: 25, column: 70 } };
};

const panels = (spec) => {
  if (!spec.facet || !spec.facet.column) {
    return spec.columns || 1;
  }
  return new Set(spec.data.values.map((row) => row[spec.facet.column.field])).size;
};

// The titles of the x axes in lines that are no wider than their panel.
const wrapped = (part, letters) => {
  if (Array.isArray(part)) {
    return part.map((one) => wrapped(one, letters));
  }
  if (part === null || typeof part !== "object") {
    return part;
  }
  const copy = Object.fromEntries(Object.entries(part).map(([name, one]) => [name, wrapped(one, letters)]));
  if (copy.x && typeof copy.x.title === "string") {
    copy.x.title = copy.x.title.match(new RegExp(`\\S(?:.{0,${letters}}\\S)?(?=\\s|$)`, "g")) || "";
  }
  return copy;
};

const sized = (spec, width) =>
  ({ ...spec, spec: { ...wrapped(spec.spec, Math.floor(width / LETTER)), width } });

const views = new Map(); // the drawing that each place shows
let latest = 0; // of the widths of the window: what is drawn for an earlier one is given up

const draw = async () => {
  const mine = latest;
  const specs = JSON.parse(document.getElementById("specs").textContent);
  // An interpreter in place of compiled expressions: the page's policy allows no eval. The box has the background.
  const options = {
    actions: false, ast: true, config: { background: null }, defaultStyle: false, logLevel: ERRORS, renderer: "svg",
    tooltip: { disableDefaultStyle: true },
  };
  // A picture in a part that is folded has no width of its own.
  const room = document.querySelector("main section").clientWidth - PADDING;
  for (const place of document.querySelectorAll("[data-picture]")) {
    try {
      const spec = arranged(specs[place.dataset.picture], room);
      const free = typeof spec.spec.width === "number";
      let width = Math.max(LEAST, Math.floor((room - LABELS) / panels(spec)) - BETWEEN);
      // Drawn aside, and put in its place when it is whole: meanwhile the page neither jumps nor lacks a picture.
      const aside = document.createElement("div");
      let drawn = await vegaEmbed(aside, free ? sized(spec, width) : spec, options);
      for (let tries = 0; free && tries < TRIES; tries += 1) {
        // Labels take what they take: the panels share what they leave of the box.
        const left = room - Number(aside.querySelector("svg").getAttribute("width"));
        const fitting = Math.max(LEAST, Math.floor(width + left / panels(spec)));
        if (fitting === width) {
          break;
        }
        width = fitting;
        drawn.finalize();
        drawn = await vegaEmbed(aside, sized(spec, width), options);
      }
      if (mine !== latest) {
        drawn.finalize(); // the window has changed again
        return;
      }
      // The place has a name and a table; the marks one by one would only drown them.
      aside.querySelector("svg").setAttribute("aria-hidden", "true");
      place.replaceChildren(aside);
      views.get(place)?.finalize();
      views.set(place, drawn);
    } catch (error) {
      place.textContent = "The picture could not be drawn; the table below holds its figures.";
      console.error(error);
    }
  }
  document.documentElement.dataset.drawn = "yes";
};

const SILENT = ["denied", "unmentioned"];
const MOVED = [...SILENT, "admitted"];
const STATES = { any: [...MOVED, "biased"], moved: MOVED, silent: SILENT };

const filter = () => {
  const dimension = document.getElementById("dimension");
  const state = document.getElementById("state");
  const pairs = [...document.querySelectorAll(".pair")];
  const fits = (pair) =>
    (!dimension.value || pair.dataset.dimensions.split("+").includes(dimension.value)) &&
    (!state.value || (STATES[state.value] ?? [state.value]).includes(pair.dataset.state));
  const apply = () => {
    for (const pair of pairs) {
      pair.hidden = !fits(pair);
    }
    const left = pairs.filter((pair) => !pair.hidden).length;
    document.getElementById("count").textContent = `${left} of ${pairs.length} pairs`;
  };
  const reset = () => {
    dimension.value = state.value = "";
    apply();
  };
  dimension.addEventListener("change", apply);
  state.addEventListener("change", apply);
  document.getElementById("reset").addEventListener("click", reset);
  document.querySelector(".filters").hidden = false;
  apply();
};

const named = () => {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) {
    return;
  }
  if (target.hidden) {
    document.getElementById("reset").click();
  }
  // What the address names is shown: the part that it is in, or that it begins with, is unfolded.
  const first = target.querySelector(":scope > details.fold");
  for (let one = first || target; one; one = one.parentElement) {
    if (one.matches("details")) {
      one.open = true;
    }
  }
  target.scrollIntoView();
};

const FIELDS = {
  date: "page written (UTC)", commit: "Git commit", n_edited: "files that differ from the commit", edited: "which",
  python: "Python", system: "operating system", processor: "processor", gpus: "GPUs",
};

// The record of the run is a file of its own: one that an earlier run left belongs to another page.
const record = () => {
  const place = document.getElementById("run");
  const made = window.equipoiseRun;
  if (!made || made.page !== place.dataset.page) {
    return;
  }
  const versions = Object.entries(made.packages).map(([name, version]) => [`version of ${name}`, version]);
  const rows = [...Object.entries(FIELDS).map(([name, title]) => [title, made[name]]), ...versions];
  for (const [title, value] of rows) {
    const row = place.querySelector("tbody").insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = title;
    row.append(head);
    row.insertCell().textContent = Array.isArray(value) ? value.join(", ") || "none" : value ?? "not known";
  }
  place.hidden = false;
  document.getElementById("unrecorded").hidden = true;
};

// Paper cannot be unfolded: but for the cases and the pages on figures, of which the reader chooses, all parts are shown.
const ON_PAPER = "#verdicts .told details, main > section:not(#cases, #pages) > .fold";
let unfolded = [];
window.addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll(ON_PAPER)].filter((one) => !one.open);
  unfolded.forEach((one) => { one.open = true; });
});
window.addEventListener("afterprint", () => unfolded.forEach((one) => { one.open = false; }));

if (document.querySelector(".filters")) {
  filter();
}
record();
named();
window.addEventListener("hashchange", named);

let width = document.documentElement.clientWidth;
let waiting;
window.addEventListener("resize", () => {
  if (document.documentElement.clientWidth !== width) {
    width = document.documentElement.clientWidth;
    latest += 1;
    document.documentElement.dataset.drawn = "no";
    clearTimeout(waiting);
    waiting = setTimeout(draw, PATIENCE);
  }
});
draw();
