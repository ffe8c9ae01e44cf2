"""What is wrong with how a page in a browser looks: pale text, text that is cut off."""

PALE = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const channels = (colour) => {
    if (known.has(colour)) return known.get(colour);
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    known.set(colour, [...canvas.getImageData(0, 0, 1, 1).data]);
    return known.get(colour);
  };
  const over = (top, alpha, below) =>
    top.slice(0, 3).map((c, i) => alpha * c + (1 - alpha) * below[i]);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const found = channels(getComputedStyle(e).backgroundColor);
      if (found[3] > 250) return found;
    }
    return [255, 255, 255];
  };
  const luminance = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const found = [];
  for (const e of document.querySelectorAll("body, body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !e.getClientRects().length || e.closest("script, style, title")) continue;
    const style = getComputedStyle(e), below = ground(e);
    const ink = channels(e instanceof SVGElement ? style.fill : style.color);
    let alpha = ink[3] / 255;
    for (let a = e; a; a = a.parentElement) alpha *= Number(getComputedStyle(a).opacity);
    const [a, b] = [luminance(over(ink, alpha, below)), luminance(below)].sort((p, q) => p - q);
    if (!alpha) continue; // labels of charts that would be on top of others
    const contrast = (b + 0.05) / (a + 0.05);
    const text = e.textContent.slice(0, 40);
    if (contrast < 4.5) found.push(`${e.tagName} "${text}": ${contrast.toFixed(2)}`);
  }
  return found;
}"""

CUT = """() => {
  const found = [];
  const told = (e, why) => found.push(`${e.tagName} "${e.textContent.slice(0, 40)}": ${why}`);
  const boxes = "h1, h2, h3, p, li, dt, dd, label, summary, button, th, td";
  for (const e of document.querySelectorAll(boxes)) {
    if (!e.getClientRects().length) continue;
    const beyond = e.getBoundingClientRect().right > innerWidth;
    if (e.scrollWidth > e.clientWidth) told(e, `${e.scrollWidth} px in ${e.clientWidth}`);
    if (beyond && !e.closest(".scroll")) told(e, "beyond the window");
  }
  for (const svg of document.querySelectorAll(".chart svg, .pairs svg")) {
    const box = svg.getBoundingClientRect();
    for (const e of svg.querySelectorAll("text")) {
      const b = e.getBoundingClientRect();
      if (!b.width || e.ownerSVGElement !== svg) continue;
      const aside = b.left < box.left - 1 || b.right > box.right + 1;
      if (aside || b.top < box.top - 1 || b.bottom > box.bottom + 1) told(e, "out of its picture");
    }
  }
  return found;
}"""


def faults(page):
    """Return what text of the page is cut off, or hard to read in one of the themes."""
    found = page.evaluate(CUT)
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        found += [f"{theme}: {told}" for told in page.evaluate(PALE)]
    return found
