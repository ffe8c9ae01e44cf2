// What pages do: choices, charts, the record of a run; drawings.js draws posteriors. Text from
// results is only ever set as text.
"use strict";
(() => {
  const SBI = (window.SBI ??= {});
  const root = document.body.dataset.root;
  const all = (selector) => [...document.querySelectorAll(selector)];

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

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
  });

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

  // Colours that light and dark pages, and paper, show differently: those of style.css.
  const PAINTS = { "#332288": "--indigo", "#882255": "--wine", "#000000": "--ink", "#555555": "--soft",
    "#D9D9D9": "--band", white: "--paper" };
  const painted = (text) =>
    text.replace(/"(#[0-9A-F]{6}|white)"/g, (all, c) => (PAINTS[c] ? `"var(${PAINTS[c]})"` : all));
  const CONFIG = {
    background: null,
    axis: { labelColor: "var(--ink)", titleColor: "var(--ink)", gridColor: "var(--line)",
      domainColor: "var(--line)", tickColor: "var(--line)" },
    legend: { labelColor: "var(--ink)", titleColor: "var(--ink)", symbolBaseFillColor: "var(--ink)",
      symbolBaseStrokeColor: "var(--ink)" },
    title: { color: "var(--ink)", subtitleColor: "var(--ink)" },
  };

  // Where the page is narrow panels stand below each other, with their titles in short lines.
  const lines = (text) => [].concat(text).flatMap((t) => t.match(/.{1,50}(\s|$)/g) ?? [t]).map((t) => t.trim());
  function stacked(node) {
    if (Array.isArray(node)) return node.map(stacked);
    if (node === null || typeof node !== "object") return node;
    const made = Object.fromEntries(Object.entries(node).map(([k, v]) => [k === "hconcat" ? "vconcat" : k, stacked(v)]));
    if (made.title?.text) {
      made.title.text = lines(made.title.text);
      if (made.title.subtitle) made.title.subtitle = lines(made.title.subtitle);
    }
    return made;
  }

  function charts() {
    for (const place of all(".chart")) {
      const specs = SBI.charts?.[place.dataset.chart] ?? {};
      const found = specs[chosen("metric")] ?? Object.values(specs)[0];
      if (!found || !window.vegaEmbed) continue;
      const room = place.clientWidth, narrow = room < 640;
      let text = painted(JSON.stringify(found));
      if (narrow) text = text.replaceAll('"orient":"right"', '"orient":"bottom"');
      const spec = narrow ? stacked(JSON.parse(text)) : JSON.parse(text);
      if (spec.width) spec.width = Math.max(200, Math.min(560, room - (narrow ? 90 : 230)));
      const config = { ...spec.config, ...CONFIG };
      for (const part of ["axis", "legend", "title"]) config[part] = { ...spec.config?.[part], ...CONFIG[part] };
      if (narrow) Object.assign(config.legend, { orient: "bottom", columns: 2, labelLimit: 120 });
      const mark = place.dataset.mark;
      if (mark) {
        // The page's own algorithm stands out.
        const own = { test: `datum.name === ${JSON.stringify(mark)}`, value: 1 };
        for (const layer of spec.layer) layer.encoding.opacity = { condition: own, value: 0.35 };
      }
      window.vegaEmbed(place, { ...spec, config }, { actions: false, renderer: "svg" });
    }
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
    const legend = (...lines) => element("p", { class: "legend" }, lines.filter(Boolean).join(" "));
    const scroll = (drawn) => element("div", { class: "scroll" }, drawn);
    place.replaceChildren(scroll(SBI.outlines(data, key, place.clientWidth)), legend(
      data.left_out && `The first ${data.names.length} parameters; ${data.left_out} more are not drawn.`,
      data.reference ? "Grey: the true posterior; orange: the algorithm's." : "The algorithm's posterior.",
      "Lines hold 50 and 90 % of the mass.",
      data.runs[key].higher &&
        "Peaks over 1.5 times as high as the true posterior's are drawn lower than they are.",
      data.truth && "Dashed: the parameters that generated the observation."));
    const drawn = SBI.predictive(data, key, place.clientWidth);
    below.replaceChildren(...(drawn ? [element("h3", {}, "Posterior predictive"), scroll(drawn), legend(
      "Dots: the observation. Lines: 90 % of the data that are simulated from posterior samples, with the median",
      data.predicted_reference ? "(grey from the true posterior, orange from the algorithm's)." : "of them.")] : []));
  }

  async function record() {
    const place = document.querySelector("[data-run]");
    if (!place) return;
    const values = fromAddress(), task = values.get("task") ?? "", id = values.get("id") ?? "";
    if (task && !SBI.runs?.[task]) await load(`data/runs/${slug(task)}.js`);
    const found = SBI.runs?.[task]?.[id];
    if (!found) {
      document.querySelector("h1").textContent = "Run";
      place.replaceChildren(element("p", {}, "There is no such run here. Runs are listed on the pages of tasks and algorithms."));
      return;
    }
    const { record: r, command, name, page } = found, s = r.spec;
    const title = `${s.label} on ${s.task}, ${s.budget.toLocaleString("en")} simulations, observation ${s.observation}, seed ${s.seed}`;
    document.querySelector("h1").textContent = title;
    document.title = title;
    const flat = (object, before = "") => Object.entries(object).flatMap(([k, v]) =>
      v !== null && typeof v === "object" && !Array.isArray(v) ? flat(v, `${before}${k}.`) : [[before + k, v]]);
    const said = (v) => typeof v === "object" ? JSON.stringify(v)
      : typeof v === "number" && !Number.isInteger(v) ? String(Number(v.toPrecision(6))) : String(v);
    const list = (object) => Object.keys(object).length
      ? element("dl", {}, ...flat(object).flatMap(([k, v]) => [element("dt", {}, k), element("dd", {}, said(v))]))
      : element("p", { class: "soft" }, "Nothing.");
    const metrics = {};
    for (const [k, v] of Object.entries(r.metrics)) {
      metrics[k] = v.toPrecision(4) + (k in r.errors ? ` ± ${r.errors[k].toPrecision(1)}` : "");
    }
    const part = (title, content) => [element("h2", {}, title), content];
    const to = (path, text) => element("a", { href: root + path }, text);
    const algorithm = page ? ["Algorithm: ", to(page, name), ". "] : [];
    place.replaceChildren(
      element("p", {}, element("span", { class: `status ${r.status}` }, r.status), `: ${r.reason}`),
      element("p", {}, ...algorithm, "Task: ", to(`tasks/${slug(s.task)}.html`, s.task), "."),
      ...part("Metrics", list({ ...metrics, ...r.missing })),
      ...part("To run it again", element("pre", {}, command)),
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
  let waiting;
  let wide = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === wide) return; // phones hide and show their bars
    wide = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(update, 200);
  });
})();
