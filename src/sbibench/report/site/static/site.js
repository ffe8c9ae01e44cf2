// What pages do: choices, charts, outlines of posteriors, the record of a run. Text from results
// is only ever set as text.
"use strict";
(() => {
  const SBI = (window.SBI ??= {});
  const root = document.body.dataset.root;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const SVG = "http://www.w3.org/2000/svg";

  function element(name, attributes = {}, ...children) {
    const made = attributes.svg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key !== "svg") made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }
  const draw = (name, attributes, ...children) =>
    element(name, { ...attributes, svg: true }, ...children);

  // Light or dark: the system's choice unless the reader makes one.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () =>
    (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  try {
    const kept = localStorage.getItem("theme");
    if (kept) document.documentElement.dataset.theme = kept;
  } catch { /* not allowed for files in some browsers */ }
  document.getElementById("theme").addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem("theme", theme); } catch { /* as above */ }
    charts();
  });
  dark.addEventListener("change", charts);

  // Choices, which the address keeps after #.
  const fromAddress = () => new URLSearchParams(location.hash.slice(1));
  const chosen = (name) => document.querySelector(`[data-choice="${name}"]`)?.value;
  function readAddress() {
    const values = fromAddress();
    for (const select of all("[data-choice]")) {
      const value = values.get(select.dataset.choice);
      if (value !== null && [...select.options].some((o) => o.value === value)) select.value = value;
    }
    update();
  }
  for (const select of all("[data-choice]")) {
    select.addEventListener("change", () => {
      const values = fromAddress();
      for (const s of all("[data-choice]")) values.set(s.dataset.choice, s.value);
      history.replaceState(null, "", "#" + values);
      update();
    });
  }
  addEventListener("hashchange", readAddress);

  function load(path) {
    return new Promise((done) => {
      const script = element("script", { src: root + path });
      script.onload = script.onerror = done;
      document.head.append(script);
    });
  }
  // As the builder names files.
  function slug(name) {
    const hex = (m) => [...new TextEncoder().encode(m)].map((b) => b.toString(16).padStart(2, "0"));
    return name.replace(/^\.+|[^A-Za-z0-9_.-]+/g, (m) => `~${hex(m).join("")}~`) || "~";
  }

  function board() {
    for (const section of all("section[data-metric]")) {
      section.hidden =
        section.dataset.metric !== chosen("metric") || section.dataset.budget !== chosen("budget");
    }
  }

  function charts() {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink").trim();
    const line = style.getPropertyValue("--line").trim();
    const config = {
      background: null,
      axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line },
      legend: { labelColor: ink, titleColor: ink },
      title: { color: ink },
    };
    for (const place of all(".chart")) {
      const specs = SBI.charts?.[place.dataset.chart] ?? {};
      const spec = specs[chosen("metric") ?? "cost"] ?? Object.values(specs)[0];
      if (!spec || !window.vegaEmbed) continue;
      const narrow = place.clientWidth < 640;
      const fitted = !spec.width ? spec : { ...spec, width: Math.max(200, Math.min(560, place.clientWidth - (narrow ? 90 : 230))) };
      const legend = narrow ? { ...config.legend, orient: "bottom", columns: 3 } : config.legend;
      const merged = { ...spec.config, ...config, legend, axis: { ...spec.config?.axis, ...config.axis },
        title: { ...spec.config?.title, ...config.title, subtitleColor: ink } };
      // The look of light and dark is the page's; the orientation of a legend is in the chart.
      const oriented = narrow ? JSON.parse(JSON.stringify(fitted).replaceAll('"orient":"right"', '"orient":"bottom"')) : fitted;
      window.vegaEmbed(place, { ...oriented, config: merged }, { actions: false, renderer: "svg" });
    }
  }

  const SIDE = 200, GAP = 14, LEFT = 58, BELOW = 40;
  function outlines(data, key) {
    const run = data.runs[key], d = data.names.length;
    const width = LEFT + d * (SIDE + GAP), height = d * (SIDE + GAP) + BELOW;
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
    svg.append(draw("title", {}, `Posterior outlines, ${key.replace("|", ", ")} simulations`));
    const short = (v) => String(Number(v.toPrecision(3)));
    for (let row = 0; row < d; row++) {
      for (let column = 0; column <= row; column++) {
        const x = LEFT + column * (SIDE + GAP), y = row * (SIDE + GAP) + 4;
        const panel = draw("svg", { x, y, width: SIDE, height: SIDE, viewBox: `0 0 ${SIDE} ${SIDE}` });
        const sets = [[data.reference, "truth"], [run, "run"]];
        for (const [set, kind] of sets) {
          if (!set) continue;
          const paths = row === column ? [set.marginals[row]] : set.contours[`${row}-${column}`];
          for (const path of paths) {
            if (!path) continue;
            if (kind === "run" && row !== column) panel.append(draw("path", { d: path, class: "area" }));
            panel.append(draw("path", { d: path, class: kind }));
          }
        }
        if (data.truth) {
          const at = data.truth[column], up = SIDE - data.truth[row];
          panel.append(draw("path", { class: "cross", d: `M${at},0V${SIDE}` + (row === column ? "" : `M0,${up}H${SIDE}`) }));
        }
        panel.append(draw("rect", { class: "frame", x: 0.5, y: 0.5, width: SIDE - 1, height: SIDE - 1 }));
        svg.append(panel);
        if (row === d - 1) {
          svg.append(
            draw("text", { x, y: y + SIDE + 13 }, short(data.low[column])),
            draw("text", { x: x + SIDE, y: y + SIDE + 13, "text-anchor": "end" }, short(data.high[column])),
            draw("text", { x: x + SIDE / 2, y: y + SIDE + 28, "text-anchor": "middle" }, data.names[column]));
        }
        if (column === 0 && row > 0) {
          const turn = `rotate(-90 14 ${y + SIDE / 2})`;
          svg.append(
            draw("text", { x: LEFT - 5, y: y + 10, "text-anchor": "end" }, short(data.high[row])),
            draw("text", { x: LEFT - 5, y: y + SIDE, "text-anchor": "end" }, short(data.low[row])),
            draw("text", { x: 14, y: y + SIDE / 2, "text-anchor": "middle", transform: turn }, data.names[row]));
        }
      }
    }
    return svg;
  }

  function predictive(data, key) {
    const bands = [["truth", data.predicted_reference], ["run", data.predicted?.[key]]].filter((b) => b[1]);
    if (!data.x || !bands.length) return null;
    const p = data.x.length, left = 58, wide = 700, high = 220, top = 8;
    const width = Math.min(wide, 40 + p * 60);
    const values = [...data.x, ...bands.flatMap((b) => [...b[1][0], ...b[1][2]])];
    let low = Math.min(...values), up = Math.max(...values);
    if (low === up) { low -= 1; up += 1; }
    const x = (i) => left + ((i + 0.5) / p) * width;
    const y = (v) => top + (1 - (v - low) / (up - low)) * high;
    const total = left + width + 10;
    const svg = draw("svg", { viewBox: `0 0 ${total} ${high + 50}`, width: total, height: high + 50, role: "img" });
    svg.append(draw("title", {}, "Data simulated from the posterior against the observation"));
    bands.forEach(([kind, band], k) => {
      const shift = bands.length > 1 ? (k - 0.5) * Math.min(10, (width / p) * 0.3) : 0;
      for (let i = 0; i < p; i++) {
        svg.append(draw("path", { class: kind, d: `M${x(i) + shift},${y(band[0][i])}V${y(band[2][i])}` }),
          draw("path", { class: kind, d: `M${x(i) + shift - 3},${y(band[1][i])}h6` }));
      }
    });
    data.x.forEach((v, i) => svg.append(draw("circle", { class: "dot", cx: x(i), cy: y(v), r: p > 40 ? 1.6 : 3 })));
    const every = Math.ceil(p / 12), short = (v) => String(Number(v.toPrecision(3)));
    for (let i = 0; i < p; i += every) {
      svg.append(draw("text", { x: x(i), y: high + 28, "text-anchor": "middle" }, data.data_names[i]));
    }
    svg.append(
      draw("rect", { class: "frame", x: left, y: top, width, height: high }),
      draw("text", { x: left - 5, y: top + 10, "text-anchor": "end" }, short(up)),
      draw("text", { x: left - 5, y: top + high, "text-anchor": "end" }, short(low)));
    return svg;
  }

  async function posteriors() {
    const place = document.querySelector("[data-pairs]");
    if (!place) return;
    const key = `${chosen("algorithm")}|${chosen("budget")}`, observation = chosen("observation");
    const name = `${place.dataset.pairs}/${observation}`;
    if (!SBI.pairs?.[name]) await load(`data/pairs/${place.dataset.folder}/${observation}.js`);
    if (key !== `${chosen("algorithm")}|${chosen("budget")}` || observation !== chosen("observation")) return;
    const data = SBI.pairs?.[name], below = document.querySelector("[data-predictive]");
    if (!data?.runs[key]) {
      place.replaceChildren(element("p", { class: "soft" },
        "There are no samples of this algorithm with so many simulations at this observation."));
      below.replaceChildren();
      return;
    }
    const more = data.left_out ? [element("p", { class: "soft" }, `The first ${data.names.length} parameters; ${data.left_out} more are not drawn.`)] : [];
    place.replaceChildren(outlines(data, key), ...more);
    const drawn = predictive(data, key);
    below.replaceChildren(...(drawn ? [element("h2", {}, "Posterior predictive"), drawn, element("p", { class: "legend" },
      "Dots: the observation. Lines: 90 % of the data that are simulated from posterior samples, with the median; grey from the true posterior, orange from the algorithm's.")] : []));
  }

  async function record() {
    const place = document.querySelector("[data-run]");
    if (!place) return;
    const values = fromAddress(), task = values.get("task") ?? "", id = values.get("id") ?? "";
    if (!SBI.runs?.[task]) await load(`data/runs/${slug(task)}.js`);
    const found = SBI.runs?.[task]?.[id];
    if (!found) {
      place.replaceChildren(element("p", {}, "There is no such run here. Runs are listed on the pages of tasks and algorithms."));
      return;
    }
    const { record: r, command } = found, s = r.spec;
    document.querySelector("h1").textContent =
      `${s.label} on ${s.task}, ${s.budget.toLocaleString("en")} simulations, observation ${s.observation}, seed ${s.seed}`;
    const flat = (object, before = "") => Object.entries(object).flatMap(([k, v]) =>
      v !== null && typeof v === "object" && !Array.isArray(v) ? flat(v, `${before}${k}.`) : [[before + k, v]]);
    const list = (object) => element("dl", {}, ...flat(object).flatMap(([k, v]) =>
      [element("dt", {}, k), element("dd", {}, typeof v === "object" && v !== null ? JSON.stringify(v) : String(v))]));
    const metrics = {};
    for (const [k, v] of Object.entries(r.metrics)) {
      metrics[k] = v.toPrecision(4) + (k in r.errors ? ` ± ${r.errors[k].toPrecision(1)}` : "");
    }
    const part = (title, content) => [element("h2", {}, title), content];
    const pre = element("pre", {}, command);
    place.replaceChildren(
      element("p", {}, element("span", { class: `status ${r.status}` }, r.status), `: ${r.reason}`),
      ...part("Metrics", list({ ...metrics, ...r.missing })),
      ...part("Again", pre),
      ...part("Cost", list({ simulations: r.calls, "not finite": r.invalid, ...Object.fromEntries(Object.entries(r.seconds).map(([k, v]) => [`${k} (s)`, v.toFixed(2)])) })),
      ...part("What the algorithm says", list(r.info)),
      ...part("Settings", list(s.settings)),
      ...part("Where and with what", list({ ...r.machine, ...r.versions, finished: r.finished, id })),
      element("details", {}, element("summary", {}, "The whole record"), element("pre", {}, JSON.stringify(r, null, 1))));
  }

  function update() {
    board();
    charts();
    posteriors();
    record();
  }
  readAddress();
})();
