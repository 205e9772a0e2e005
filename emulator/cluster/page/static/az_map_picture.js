// The map: AZs as boxes with each node's own view, and the links between them. Everything on it is a button.
import { Keyed, change, epochClass, epochLetter, epochShape, pressed, svg } from "./page_elements.js";
import { azsOf, nodeView, nodesIn, pairText, pairsOf } from "./cluster_view.js";

const MAP_WIDTH = 860, LINE = 34, TITLE = 30, PAD = 10, ROW_MAX = 4, ARC = 26;

export class AzMap {
  // `choose(kind, name, element)`: "az", "link" (an array) or "node".
  constructor(choose) {
    this.choose = choose;
    this.element = svg("svg", { class: "map", role: "group", "aria-label": "Map of the AZs" });
    this.links = new Keyed(this.element.appendChild(svg("g", { class: "links" })));
    this.boxes = new Keyed(this.element.appendChild(svg("g", { class: "boxes" })));
    this.nodes = new Keyed(this.element.appendChild(svg("g", { class: "nodes" })));
  }

  draw(state, place) {
    const azs = azsOf(state), columns = Math.max(1, Math.min(ROW_MAX, azs.length));
    const gap = columns > 1 ? 92 : 0, wide = (MAP_WIDTH - gap * (columns - 1)) / columns;
    const tall = TITLE + PAD + LINE * Math.max(1, ...azs.map((az) => nodesIn(state, az).length));
    const rows = Math.ceil(azs.length / columns), arcs = azs.length > 2 && rows === 1 ? azs.length - 2 : 0;
    const at = new Map(azs.map((az, n) => [az, { x: (n % columns) * (wide + gap), y: Math.floor(n / columns) * (tall + 20) }]));
    change(this.element, { viewBox: `0 0 ${MAP_WIDTH} ${rows * (tall + 20) + arcs * ARC + 8}` });
    for (const az of azs) this.box(state, az, at.get(az), wide, tall, place);
    if (rows === 1) for (const [a, b] of pairsOf(azs)) this.link(state, a, b, azs, at, wide, tall);
    this.boxes.end();
    this.nodes.end();
    this.links.end();
  }

  button(keyed, key, kind, name) {
    return keyed.keep(key, () => {
      const group = svg("g", { role: "button", tabindex: 0, "data-key": key });
      return pressed(group, () => this.choose(kind, name, group));
    });
  }

  box(state, az, { x, y }, wide, tall, place) {
    const title = this.button(this.boxes, `az ${az}`, "az", az), fresh = !title.firstChild;
    if (fresh) title.append(svg("rect", { class: "az", rx: 8 }), svg("text", { class: "title" }, az));
    change(title, { "aria-label": `${az}: faults of this AZ` });
    change(title.children[0], { x: x + 1, y: y + 1, width: wide - 2, height: tall - 2 });
    change(title.children[1], { x: x + PAD, y: y + 21 });
    nodesIn(state, az).forEach((name, n) => this.node(state, name, x + 5, y + TITLE + n * LINE, wide - 10, place));
  }

  node(state, name, x, y, wide, place) {
    const seen = nodeView(state, name, place), group = this.button(this.nodes, `node ${name}`, "node", name);
    if (!group.firstChild) {
      group.append(svg("rect", { class: "node", rx: 5, height: LINE - 4 }), svg("text", { class: "health" }),
        svg("text", { class: "name" }, name), svg("path", { class: "epoch" }), svg("text", { class: "letter", "text-anchor": "middle" }),
        svg("text", { class: "role", "text-anchor": "end" }));
    }
    const [box, health, label, shape, letter, role] = group.children;
    const text = seen.role || seen.note;
    change(group, { class: `node ${seen.leads ? "leads" : ""}`,
      "aria-label": [name, seen.health.text, seen.role, seen.note].filter(Boolean).join(", ") });
    change(box, { x, y, width: wide });
    change(health, { x: x + 8, y: y + 20, class: `health ${seen.health.css}` }, seen.health.sign);
    change(label, { x: x + 24, y: y + 13 });
    change(role, { x: x + 24, y: y + 26, "text-anchor": "start" }, seen.leads ? `★ ${text}` : text);
    const sign = seen.epoch >= 0;
    change(shape, { class: `epoch ${epochClass(seen.epoch)}`, d: epochShape(seen.epoch), display: sign ? null : "none",
      transform: `translate(${x + wide - 16} ${y + 15}) scale(1.25)` });
    change(letter, { x: x + wide - 16, y: y + 19 }, sign ? epochLetter(seen.epoch) : "");
    const crown = seen.node.is_controller && seen.role ? `controller e${seen.node.controller_epoch}` : "";
    const more = group.children[6] ?? group.appendChild(svg("text", { class: "controls", "text-anchor": "end" }));
    change(more, { x: x + wide - 32, y: y + 13 }, crown);
  }

  link(state, a, b, azs, at, wide, tall) {
    const text = pairText(state, a, b), group = this.button(this.links, `link ${a} ${b}`, "link", [a, b]);
    if (!group.firstChild) {
      group.append(svg("path", { class: "hit" }), svg("path", { class: "line" }), svg("text", { "text-anchor": "middle" }));
    }
    const near = azs.indexOf(b) - azs.indexOf(a), from = at.get(a), to = at.get(b), there = state.links[`${a} ${b}`];
    const back = state.links[`${b} ${a}`], worst = there ?? back;
    const low = tall + 8 + (near - 1) * ARC;
    const d = near === 1 ? `M${from.x + wide} ${tall / 2}H${to.x}`
      : `M${from.x + wide / 2} ${tall}V${low}H${to.x + wide / 2}V${tall}`;
    const middle = near === 1 ? [(from.x + wide + to.x) / 2, tall / 2 - 9] : [(from.x + to.x + wide) / 2, low - 5];
    const oneWay = Boolean(there) !== Boolean(back), sign = worst?.kind === "cut" ? "✂ " : worst ? "◆ " : "";
    const short = oneWay ? `${sign}one way` : `${sign}${text}`;
    change(group, { class: `link ${worst ? worst.kind : "open"}`, "aria-label": `Link ${a} to ${b}: ${text}` });
    change(group.children[0], { d });
    change(group.children[1], { d });
    change(group.children[2], { x: middle[0], y: middle[1] }, near === 1 && text.length > 14 ? `${sign}${worst?.kind ?? ""}` : short);
  }
}
