"use strict";
/* Tables that sort and filter, and drawings that are made when they come into view. */

const number = (cell) => {
  const stored = cell.dataset.value;
  if (stored !== undefined) return stored === "" ? NaN : Number(stored);
  const text = cell.textContent.trim();
  return /^[-+]?[\d,]*\.?\d+$/.test(text) ? Number(text.replaceAll(",", "")) : text === "–" ? NaN : null;
};

const compare = (first, second, sign) => {
  const [a, b] = [number(first), number(second)];
  if (a === null || b === null) return sign * first.textContent.localeCompare(second.textContent, undefined, { numeric: true });
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b); // what is missing comes last
  return sign * (a - b);
};

const sort = (table, place) => {
  const headers = [...table.tHead.rows[0].cells];
  const chosen = headers[place];
  const before = chosen.getAttribute("aria-sort");
  const descending = before ? before === "ascending" : !chosen.classList.contains("text");
  headers.forEach((header) => header.removeAttribute("aria-sort"));
  chosen.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => compare(a.cells[place], b.cells[place], descending ? -1 : 1));
  table.tBodies[0].append(...rows);
};

document.querySelectorAll("table.sortable").forEach((table) => {
  [...table.tHead.rows[0].cells].forEach((header, place) => {
    header.querySelector("button")?.addEventListener("click", () => sort(table, place));
  });
});

document.querySelectorAll(".toggle").forEach((button) => {
  const more = button.textContent;
  button.addEventListener("click", () => {
    const hides = document.getElementById(button.getAttribute("aria-controls")).classList.toggle(button.dataset.hides);
    button.setAttribute("aria-pressed", String(!hides));
    button.textContent = hides ? more : button.dataset.less;
  });
});

const remember = (key, value) => { try { sessionStorage.setItem(key, value); } catch { /* not allowed here */ } };
const recall = (key) => { try { return sessionStorage.getItem(key); } catch { return null; } };

document.querySelectorAll("form[data-filters]").forEach((form) => {
  const rows = [...document.getElementById(form.dataset.filters).tBodies[0].rows];
  const names = new Map(rows.map((row) => [row, [...row.cells].slice(0, 3).map((cell) => cell.textContent).join(" ").toLowerCase()]));
  const fields = [...form.querySelectorAll("[data-key]")];
  const apply = () => {
    let seen = 0;
    for (const row of rows) {
      row.hidden = !fields.every(({ dataset, value }) => dataset.key === "text"
        ? value.toLowerCase().split(/\s+/).every((word) => names.get(row).includes(word))
        : !value || row.dataset[dataset.key] === value);
      seen += !row.hidden;
    }
    form.querySelector("output").textContent = seen === rows.length ? `${rows.length} rows` : `${seen} of ${rows.length} rows`;
  };
  for (const field of fields) {
    const key = `uegr-${location.pathname}-${field.dataset.key}`;
    const before = recall(key);
    if (before !== null) field.value = before;
    if (field.value !== (before ?? field.value)) field.value = "";
    field.addEventListener("input", () => { remember(key, field.value); apply(); });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
});

/* What is closed on the page is open on paper, where it fits; this comes before the drawings are made for it. */
const closed = [];
addEventListener("beforeprint", () => document.querySelectorAll("details[data-print]:not([open])").forEach((one) => { one.open = true; closed.push(one); }));
addEventListener("afterprint", () => closed.splice(0).forEach((one) => { one.open = false; }));

const panels = JSON.parse(document.getElementById("panels").textContent);
const hidden = new Map(); // section -> methods that are switched off
document.querySelectorAll(".drawings").forEach((section) => {
  const off = section.querySelectorAll('.legend button[aria-pressed="false"]');
  hidden.set(section.id, new Set([...off].map((button) => button.dataset.method)));
});
const font = { family: getComputedStyle(document.body).fontFamily, size: 12 };

const layoutOf = ({ layout }, width, height) => {
  const plain = { automargin: true, zeroline: false, ticks: "", showline: false, fixedrange: true };
  const title = (axis) => ({ ...axis.title, font: { size: width < 260 ? 9 : font.size }, standoff: 8 });
  return {
    ...layout, height, width, font: { ...font, size: width < 260 ? 9 : font.size }, autosize: false, showlegend: false, hovermode: "closest",
    margin: { l: 48, r: 12, t: 8, b: 44 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    hoverlabel: { font: { ...font, color: "#ffffff" }, bgcolor: "#343a40", bordercolor: "#343a40", align: "left" },
    xaxis: { ...plain, ...layout.xaxis, title: title(layout.xaxis), showgrid: false },
    yaxis: { ...plain, ...layout.yaxis, title: title(layout.yaxis) },
  };
};

/* Plotly is text until the first drawing, so that tables are there at once; the page's policy knows its hash. */
const ready = () => {
  if (window.Plotly) return;
  const script = document.createElement("script");
  script.textContent = document.getElementById("plotly").textContent;
  document.head.append(script);
};

/* A name stands at the first place around its point where it covers nothing, or else only whiskers, or else away from
   the point at the end of a line; where no such place is left, the legend names it. */
const BESIDE = ["top right", "top left", "bottom right", "bottom left", "middle right", "middle left", "top center", "bottom center"];
const AWAY = [30, 50, 70, 90].flatMap((far) => [...Array(12).keys()].map((turn) => [Math.cos(turn * Math.PI / 6) * far, Math.sin(turn * Math.PI / 6) * far]));
const HIGH = 13; // of a line of text
const pen = document.createElement("canvas").getContext("2d");
const decoded = (text) => new DOMParser().parseFromString(text, "text/html").documentElement.textContent;
const around = (x, y, wide) => [x - wide / 2, y - HIGH / 2, x + wide / 2, y + HIGH / 2];
const beside = (x, y, corner, wide) => {
  const gap = 8; // from the point's middle
  const [down, across] = corner.split(" ").map((word) => ({ top: -1, left: -1, bottom: 1, right: 1 })[word] ?? 0);
  return around(x + across * (gap + wide / 2), y + down * (gap + HIGH / 2), wide);
};
const meets = (one, other) => one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];

const nameApart = (place) => {
  const named = place.data.map((trace, index) => [trace, index]).filter(([trace]) => trace.visible && trace.text && trace.mode?.includes("text"));
  if (!named.length) return;
  const area = place.querySelector(".nsewdrag").getBoundingClientRect();
  const { xaxis, yaxis } = place.layout;
  const across = (value) => (value - xaxis.range[0]) / (xaxis.range[1] - xaxis.range[0]) * area.width;
  const down = (value) => (1 - (value - yaxis.range[0]) / (yaxis.range[1] - yaxis.range[0])) * area.height;
  const spots = ([trace]) => trace.x.map((x, at) => [across(x), down(trace.y[at])]);
  const whiskers = ([trace]) => trace.x.flatMap((x, at) => {
    const ends = (bars, value) => bars?.array ? [value - bars.arrayminus[at], value + bars.array[at]] : [value, value];
    const [[left, right], [low, high]] = [ends(trace.error_x, x), ends(trace.error_y, trace.y[at])];
    const [middle, level] = [across(x), down(trace.y[at])];
    return [[across(left), level - 1, across(right), level + 1], [middle - 1, down(high), middle + 1, down(low)]];
  });
  const taken = named.flatMap(spots).map(([x, y]) => [x - 6, y - 6, x + 6, y + 6]);
  const lines = named.flatMap(whiskers);
  const fits = (own, ...others) => own[0] >= 0 && own[1] >= 0 && own[2] <= area.width && own[3] <= area.height
    && !others.some((some) => some.some((other) => meets(own, other)));
  pen.font = `11px ${font.family}`;
  const annotations = [];
  const placed = named.map((one) => spots(one).map(([x, y], at) => {
    const [trace, text] = [one[0], one[0].text[at]];
    if (!text) return ["", "top right"];
    const wide = pen.measureText(decoded(text)).width + 2;
    const wishes = [trace.textposition[at], ...BESIDE];
    const free = (corner, ...others) => fits(beside(x, y, corner, wide), ...others);
    const corner = wishes.find((some) => free(some, taken, lines)) ?? wishes.find((some) => free(some, taken));
    if (corner) {
      taken.push(beside(x, y, corner, wide));
      return [text, corner];
    }
    const shift = AWAY.find(([right, below]) => fits(around(x + right, y + below, wide), taken));
    if (shift) {
      taken.push(around(x + shift[0], y + shift[1], wide));
      annotations.push({ x: trace.x[at], y: trace.y[at], text, ax: shift[0], ay: shift[1], font: trace.textfont, borderpad: 0,
        arrowcolor: trace.textfont.color, arrowwidth: 1, arrowhead: 0, standoff: 5 });
    }
    return ["", "top right"];
  }));
  const changes = { text: placed.map((some) => some.map(([text]) => text)), textposition: placed.map((some) => some.map(([, corner]) => corner)) };
  Plotly.update(place, changes, { annotations }, named.map(([, index]) => index));
};

const draw = (place, width = place.clientWidth, share = 1) => {
  const panel = panels[place.dataset.panel];
  if (!panel || !width) return;
  ready();
  const off = hidden.get(place.closest("section").id) ?? new Set();
  const traces = panel.traces.map((trace) => ({ ...trace, visible: !off.has(trace.meta) }));
  Plotly.react(place, traces, layoutOf(panel, width, share * panel.height), { displayModeBar: false, responsive: false });
  nameApart(place);
  place.dataset.drawn = width;
};

const places = [...document.querySelectorAll(".plot")];
if (places.length) {
  const near = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting && !target.dataset.drawn) draw(target);
  }, { rootMargin: "600px" });
  const observe = () => requestIdleCallback(() => places.forEach((place) => near.observe(place)));
  if (document.readyState === "complete") observe(); else addEventListener("load", observe);
  const widths = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.dataset.drawn && target.clientWidth && Number(target.dataset.drawn) !== target.clientWidth) draw(target);
    }
  });
  places.forEach((place) => widths.observe(place));
  const kinds = [[".single", 690, 0.55], [".four", 340, 0.43], [".two", 340, 0.55], ["*", 222, 0.5]]; // columns on a portrait page, and how high
  const paper = (place) => kinds.find(([kind]) => place.closest(kind)).slice(1);
  addEventListener("beforeprint", () => places.filter((place) => place.clientWidth).forEach((place) => draw(place, ...paper(place))));
  addEventListener("afterprint", () => places.filter((place) => place.dataset.drawn).forEach((place) => draw(place)));
}

document.querySelectorAll(".legend button").forEach((button) => {
  button.addEventListener("click", () => {
    const section = button.closest("section");
    const off = hidden.get(section.id) ?? new Set();
    if (!off.delete(button.dataset.method)) off.add(button.dataset.method);
    hidden.set(section.id, off);
    button.setAttribute("aria-pressed", String(!off.has(button.dataset.method)));
    section.querySelectorAll(".plot[data-drawn]").forEach((place) => draw(place));
  });
});
