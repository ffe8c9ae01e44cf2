// Outlines of posteriors, and data simulated from them, as SVG. Letters keep their size where the
// page is narrow: panels get smaller, down to where the picture scrolls sideways.
"use strict";
(() => {
  const SBI = (window.SBI ??= {});
  const SIDE = 200; // of a panel, in the units of its paths
  const LEAST = 96, GAP = 14, LEFT = 58, BELOW = 40;

  function draw(name, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }
  const image = (width, height, title) =>
    draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" }, draw("title", {}, title));
  const label = (x, y, anchor, text, more = {}) => draw("text", { x, y, "text-anchor": anchor, ...more }, text);
  const short = (v) => String(Number(v.toPrecision(3)));

  function panel(data, run, row, column) {
    const made = draw("svg", { viewBox: `0 0 ${SIDE} ${SIDE}` });
    const add = (kind, d) => made.append(draw("path", { class: kind, d }));
    for (const [set, kind] of [[data.reference, "truth"], [run, "run"]]) {
      if (!set) continue;
      const paths = row === column ? [set.marginals[row]] : set.contours[`${row}-${column}`];
      for (const path of paths.filter(Boolean)) {
        if (kind === "run" && row !== column) add("area", path);
        add(kind, path);
      }
    }
    if (data.truth) {
      const at = data.truth[column], up = SIDE - data.truth[row];
      add("cross", `M${at},0V${SIDE}` + (row === column ? "" : `M0,${up}H${SIDE}`));
    }
    made.append(draw("rect", { class: "frame", x: 0.5, y: 0.5, width: SIDE - 1, height: SIDE - 1 }));
    return made;
  }

  // The pair plot of one run, key "algorithm|budget", in so many pixels.
  SBI.outlines = (data, key, room) => {
    const d = data.names.length;
    const side = Math.max(LEAST, Math.min(SIDE, Math.floor((room - LEFT) / d) - GAP));
    const svg = image(LEFT + d * (side + GAP), d * (side + GAP) + BELOW,
      `Posterior outlines, ${key.replace("|", ", ")} simulations`);
    for (let row = 0; row < d; row++) {
      const y = row * (side + GAP) + 4;
      for (let column = 0; column <= row; column++) {
        const x = LEFT + column * (side + GAP), made = panel(data, data.runs[key], row, column);
        for (const [name, value] of Object.entries({ x, y, width: side, height: side })) made.setAttribute(name, value);
        svg.append(made);
        if (row === d - 1) {
          svg.append(label(x, y + side + 13, "start", short(data.low[column])),
            label(x + side, y + side + 13, "end", short(data.high[column])),
            label(x + side / 2, y + side + 28, "middle", data.names[column]));
        }
      }
      if (row > 0) {
        svg.append(label(LEFT - 5, y + 10, "end", short(data.high[row])),
          label(LEFT - 5, y + side, "end", short(data.low[row])),
          label(14, y + side / 2, "middle", data.names[row], { transform: `rotate(-90 14 ${y + side / 2})` }));
      }
    }
    return svg;
  };

  // Data simulated from a run's samples and from the true posterior, or null if there are none.
  SBI.predictive = (data, key, room) => {
    const bands = [["truth", data.predicted_reference], ["run", data.predicted?.[key]]].filter((b) => b[1]);
    if (!data.x || !bands.length) return null;
    const p = data.x.length, left = 58, high = 220, top = 8;
    const width = Math.max(220, Math.min(700, 40 + p * 60, room - left - 10));
    const values = [...data.x, ...bands.flatMap((b) => [...b[1][0], ...b[1][2]])];
    const least = Math.min(...values), most = Math.max(...values);
    const margin = 0.05 * (most - least) || 1, low = least - margin, up = most + margin;
    const x = (i) => left + ((i + 0.5) / p) * width;
    const y = (v) => top + (1 - (v - low) / (up - low)) * high;
    const svg = image(left + width + 10, high + 50, "Data simulated from the posterior against the observation");
    bands.forEach(([kind, band], k) => {
      const shift = bands.length > 1 ? (k - 0.5) * Math.min(10, (width / p) * 0.3) : 0;
      for (let i = 0; i < p; i++) {
        svg.append(draw("path", { class: kind, d: `M${x(i) + shift},${y(band[0][i])}V${y(band[2][i])}` }),
          draw("path", { class: kind, d: `M${x(i) + shift - 3},${y(band[1][i])}h6` }));
      }
    });
    data.x.forEach((v, i) => svg.append(draw("circle", { class: "dot", cx: x(i), cy: y(v), r: p > 40 ? 1.6 : 3 })));
    const longest = Math.max(...data.data_names.map((name) => name.length));
    const every = Math.ceil((p * (longest * 6.5 + 8)) / width);
    for (let i = 0; i < p; i += every) svg.append(label(x(i), high + 28, "middle", data.data_names[i]));
    svg.append(draw("rect", { class: "frame", x: left, y: top, width, height: high }),
      label(left - 5, top + 10, "end", short(up)), label(left - 5, top + high, "end", short(low)));
    return svg;
  };
})();
