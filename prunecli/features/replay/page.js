"use strict";
const data = JSON.parse(document.querySelector("#data").textContent);
const picker = document.querySelector("#session");
const colour = (n) => `var(--k${n})`;
const tokens = (n) => (n >= 1e6 ? `${(n / 1e6).toFixed(1)}M` : n >= 1e3 ? `${Math.round(n / 1e3)}K` : `${Math.round(n)}`);
const money = (n) => (n >= 0.1 || n === 0 ? `$${n.toFixed(2)}` : `$${n.toFixed(4)}`);
const make = (name, attributes = {}, text = "") => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  return node;
};
const html = (name, text = "", className = "") => {
  const node = document.createElement(name);
  node.textContent = text;
  if (className) node.className = className;
  return node;
};
const steps = (most) => {
  const raw = most / 4 || 1, size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * size).find((n) => n >= raw);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
};
const tip = html("div");
tip.id = "tip";
tip.hidden = true;
document.body.append(tip);
const LEFT = 52, BOTTOM = 18, TOP = 12;
const frame = (width, height, count, most, label, step) => {
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  const x = (at) => LEFT + ((width - LEFT - 8) * at) / Math.max(1, count - 1);
  const y = (value) => height - BOTTOM - ((height - BOTTOM - TOP) * value) / (most || 1);
  for (const value of steps(most)) {
    svg.append(make("line", { class: "grid", x1: LEFT, x2: width - 8, y1: y(value), y2: y(value) }));
    svg.append(make("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, label(value)));
  }
  for (const at of [0, count - 1]) {
    const anchor = at ? "end" : "start";
    svg.append(make("text", { x: x(at), y: height - 4, "text-anchor": anchor }, at ? `request ${at * step + 1}` : "1"));
  }
  return { svg, x, y };
};
const hover = (parts, width, count, words) => {
  const { svg, x, y } = parts;
  const cursor = make("line", { class: "cursor", y1: TOP, y2: y(0), visibility: "hidden" });
  svg.append(cursor);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * width;
    const at = Math.round(((place - LEFT) / (width - LEFT - 8)) * (count - 1));
    if (at < 0 || at >= count) return;
    cursor.setAttribute("x1", x(at));
    cursor.setAttribute("x2", x(at));
    cursor.setAttribute("visibility", "visible");
    tip.textContent = words(at);
    tip.hidden = false;
    const left = event.pageX + 14 + tip.offsetWidth > document.documentElement.clientWidth;
    tip.style.left = `${left ? Math.max(4, event.pageX - 14 - tip.offsetWidth) : event.pageX + 14}px`;
    tip.style.top = `${event.pageY + 14}px`;
  });
  svg.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    tip.hidden = true;
  });
};
const markers = {
  breaks: (at) => make("path", { d: `M${at - 4} 1 h8 l-4 8 z`, fill: "var(--break)" }),
  edits: (at) => make("path", { d: `M${at} 1 l4 4 l-4 4 l-4 -4 z`, fill: "none", stroke: "var(--edit)" }),
  regrets: (at) => make("circle", { cx: at, cy: 5, r: 3.5, fill: "none", stroke: "var(--regret)", "stroke-width": 1.5 }),
};
const named = {
  breaks: "edit that broke the cache (and bound thinking)",
  edits: "edit while nothing was cached (breaks only bound thinking)",
  regrets: "answer that quotes removed content",
};
const stacked = (play, most) => {
  const width = 400, height = 190, count = play.cost.length;
  const parts = frame(width, height, count, most, tokens, play.step);
  const { svg, x, y } = parts;
  const below = new Array(count).fill(0);
  play.layers.forEach((layer, kind) => {
    const above = below.map((value, at) => value + layer[at]);
    const up = above.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
    const down = below.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).reverse();
    svg.append(make("polygon", { points: [...up, ...down].join(" "), fill: colour(kind) }));
    above.forEach((value, at) => { below[at] = value; });
  });
  const broke = new Set(play.breaks);
  for (const [kind, mark] of Object.entries(markers)) {
    for (const at of play[kind]) {
      if (kind === "edits" && broke.has(at)) continue;
      const node = mark(x(at));
      if (kind === "regrets") node.setAttribute("transform", "translate(0 11)");
      svg.append(node);
    }
  }
  hover(parts, width, count, (at) => {
    const rows = play.layers.map((layer, kind) => `${tokens(layer[at]).padStart(6)}  ${data.kinds[kind]}`).reverse();
    return [`request ${at * play.step + 1}: ${tokens(below[at])}`, ...rows].join("\n");
  });
  const figure = html("figure"), caption = html("figcaption", play.name);
  caption.append(html("span", money(play.last)));
  figure.append(caption, svg);
  return figure;
};
const costs = (plays, width) => {
  const height = 260, count = plays[0].cost.length, step = plays[0].step;
  const parts = frame(width, height, count, Math.max(...plays.map((play) => play.last)), money, step);
  const order = plays.map((play, index) => ({ play, index })).sort((a, b) => b.play.last - a.play.last);
  const shown = new Set([0, 1, order[order.length - 1].index]);
  plays.forEach((play, index) => {
    const points = play.cost.map((value, at) => `${parts.x(at).toFixed(1)},${parts.y(value).toFixed(1)}`).join(" ");
    const line = { points, fill: "none", stroke: index ? colour(1 + ((index - 1) % 6)) : "var(--fg)" };
    const way = shown.has(index) ? { "stroke-width": 2.5 } : { "stroke-width": 1.2, "stroke-opacity": 0.75 };
    parts.svg.append(make("polyline", { ...line, ...way, ...(index > 6 ? { "stroke-dasharray": "5 3" } : {}) }));
  });
  hover(parts, width, count, (at) =>
    [`request ${at * step + 1}`, ...order.map(({ play }) => `${money(play.cost[at]).padStart(9)}  ${play.name}`)].join("\n"));
  const legend = html("div", "", "legend");
  order.forEach(({ play, index }) => {
    const entry = html("span"), line = make("svg", { viewBox: "0 0 16 16" });
    const stroke = index ? colour(1 + ((index - 1) % 6)) : "var(--fg)";
    const dashes = index > 6 ? { "stroke-dasharray": "5 3" } : {};
    line.append(make("line", { x1: 0, x2: 16, y1: 8, y2: 8, stroke, "stroke-width": 2.5, ...dashes }));
    entry.append(line, `${play.name} ${money(play.last)}`);
    legend.append(entry);
  });
  return [parts.svg, legend];
};
const legend = document.querySelector("#legend");
data.kinds.forEach((name, kind) => {
  const entry = html("span", ""), swatch = html("i");
  swatch.style.background = colour(kind);
  entry.append(swatch, name);
  legend.append(entry);
});
for (const [kind, mark] of Object.entries(markers)) {
  const entry = html("span"), icon = make("svg", { viewBox: "-8 -3 16 16" });
  icon.append(mark(0));
  entry.append(icon, named[kind]);
  legend.append(entry);
}
const show = () => {
  const place = document.querySelector("#cost");
  const { plays } = data.sessions[picker.value];
  const most = Math.max(...plays[0].cost.keys(), 0) >= 0 ? Math.max(...plays.map((play) =>
    Math.max(...play.cost.map((_, at) => play.layers.reduce((sum, layer) => sum + layer[at], 0))))) : 1;
  document.querySelector("#plots").replaceChildren(...plays.map((play) => stacked(play, most)));
  place.replaceChildren(...costs(plays, Math.max(240, place.clientWidth)));
};
data.sessions.forEach((session, index) => {
  const option = html("option", `${session.name} (${money(session.plays[0].last)})`);
  option.value = index;
  picker.append(option);
});
if (data.sessions.length) {
  picker.addEventListener("change", show);
  window.addEventListener("resize", show);
  show();
}
