// The page's own script: draws the pictures, filters the cases, and opens the case that the address names.
"use strict";

const WIDEST = 300; // of one panel, as the templates have it, in pixels
const NARROWEST = 130;
const LABELS = 150; // room for the rows' names
const BETWEEN = 80; // and between panels, for counts

const ERRORS = 1; // the least that Vega logs

const fitted = (spec, room) => {
  const column = spec.facet && spec.facet.column;
  if (!column || spec.facet.row || typeof spec.spec.width !== "number") {
    return spec;
  }
  // Panels side by side while each stays legible, else one below the other.
  const panels = new Set(spec.data.values.map((row) => row[column.field])).size;
  const columns = Math.max(1, Math.min(panels, Math.floor((room - LABELS) / (200 + BETWEEN))));
  const width = Math.max(NARROWEST, Math.min(WIDEST, Math.floor((room - LABELS) / columns) - BETWEEN));
  return { ...spec, facet: column, columns, spacing: { row: 25, column: 70 }, spec: { ...spec.spec, width } };
};

const draw = async () => {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  // An interpreter in place of compiled expressions: the page's policy allows no eval.
  const options = {
    actions: false, ast: true, defaultStyle: false, logLevel: ERRORS, renderer: "svg",
    tooltip: { disableDefaultStyle: true },
  };
  for (const place of document.querySelectorAll("[data-picture]")) {
    const room = place.closest("figure").clientWidth - 26;
    try {
      await vegaEmbed(place, fitted(specs[place.dataset.picture], room), options);
      // The place has a name and a table; the marks one by one would only drown them.
      place.querySelector("svg").setAttribute("aria-hidden", "true");
    } catch (error) {
      place.textContent = "The picture could not be drawn; the table below holds its figures.";
      console.error(error);
    }
  }
  document.documentElement.dataset.drawn = "yes";
};

const filter = () => {
  const dimension = document.getElementById("dimension");
  const state = document.getElementById("state");
  const pairs = [...document.querySelectorAll(".pair")];
  const fits = (pair) =>
    (!dimension.value || pair.dataset.dimensions.split("+").includes(dimension.value)) &&
    (!state.value || pair.dataset.state === state.value ||
      (state.value === "any" && pair.dataset.state !== "unbiased"));
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
  const named = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.matches(".pair")) {
      reset();
      target.open = true;
      target.scrollIntoView();
    }
  };
  dimension.addEventListener("change", apply);
  state.addEventListener("change", apply);
  document.getElementById("reset").addEventListener("click", reset);
  window.addEventListener("hashchange", named);
  document.querySelector(".filters").hidden = false;
  apply();
  named();
};

if (document.querySelector(".filters")) {
  filter();
}
draw();
