// Messages: arrows between the lanes of nodes, as soon as there is room for all that are in sight. What a rule stopped
// dies on its way, and is drawn sooner. A request is a full line, an answer a broken one.
const messages = (() => {
  const APART_PX = 16, HEAD = 6, STUB_PX = 14, CHAR_PX = 8, LABEL_PX = 13, BESIDE_PX = 5, LISTED_MAX = 250;
  const SENT = 0, TOOK = 1, SENDER = 2, RECEIVER = 3, API = 4, RESPONSE = 5, STOPPED = 6, RULE = 7, AT_RECEIVER = 8;
  const { rows, nodes, apis, rules, off, note, within } = data.messages;
  const box = document.getElementById("messages"), listed = document.getElementById("listed");
  const chosen = new Set();
  let last = [];

  const kind = (row) => apis[row[API]][1];
  const arrival = (row) => row[SENT] + row[TOOK];
  const lane = (picture, node) => data.lanes[picture][nodes[node]] ?? data.lanes[picture].clients;

  function story(row) {
    const between = `${nodes[row[SENDER]]} to ${nodes[row[RECEIVER]]}`;
    const what = `${apis[row[API]][0]}${row[RESPONSE] ? " answer" : ""}, ${between}`;
    const rule = row[STOPPED] === undefined ? "" :
      ` stopped by ${data.rules[rules[row[RULE]]] ?? rules[row[RULE]]}${row[AT_RECEIVER] ? " at its receiver" : ""}`;
    const came = row[TOOK] < 0 ? (rule ? ", never arrived" : ": nobody received it") :
      rule ? `, arrived ${seconds(row[TOOK])} later` : `, ${row[TOOK]} ms`;
    return `${seconds(row[SENT], 3)}  ${what}${rule}${came}`;
  }

  function draw(overlay, seen) {
    if (!box) return;
    const sight = (ms) => ms >= seen.from && ms <= seen.to;
    const some = rows.filter((row) => chosen.has(kind(row))
      && (sight(row[SENT]) || (row[TOOK] > 0 && sight(arrival(row))))
      && lane(seen.picture, row[SENDER]) !== lane(seen.picture, row[RECEIVER]));
    const dead = some.filter((row) => row[STOPPED] !== undefined);
    const room = Math.floor((seen.px(seen.to) - seen.px(seen.from)) / APART_PX);
    const all = some.length <= room, drawn = all ? some : dead.slice(0, room);
    shade(overlay, seen);
    const labels = [];
    for (const row of drawn) overlay.append(arrow(row, seen, labels));
    name(overlay, labels, seen);
    const stopped = dead.length ? `, ${dead.length.toLocaleString("en")} of them stopped on their way` : "";
    box.querySelector("[role=status]").textContent = all ? `${some.length} in sight${stopped}.` :
      `${some.length.toLocaleString("en")} in sight${stopped}. ${dead.length ? "Those are drawn. " : ""}` +
      `Zoom in: as soon as they are ${room} or fewer, all are drawn.`;
    box.querySelector("button").hidden = all;
    last = drawn;
    list();
  }

  // Where the page has no messages.
  function shade(overlay, seen) {
    if (!within) return;
    let from = seen.from;
    for (const [begin, end] of [...within, [seen.to, seen.to]]) {
      const to = Math.min(seen.to, begin);
      if (to > from) overlay.append(made("rect", { class: "unsaid", x: seen.px(from), y: 0, height: 3,
        width: seen.px(to) - seen.px(from), "data-tip": "Messages of this time are not in the page" }));
      from = Math.max(from, end);
    }
  }

  function arrow(row, seen, labels) {
    const a = lane(seen.picture, row[SENDER]), b = lane(seen.picture, row[RECEIVER]);
    const y1 = (a[0] + a[1]) / 2 * seen.scale, y2 = (b[0] + b[1]) / 2 * seen.scale;
    const x1 = seen.px(row[SENT]), stopped = row[STOPPED] !== undefined;
    const css = ["message", `m-${kind(row)}`, row[RESPONSE] && "response", stopped && "stopped"].filter(Boolean);
    const group = made("g", { class: css.join(" "), "data-tip": story(row) });
    const line = (d, of = "") => group.append(made("path", { d, class: of }), made("path", { d, class: "wide" }));
    let x2 = seen.px(arrival(row)), label = [(x1 + x2) / 2, (y1 + y2) / 2];
    if (stopped || row[TOOK] < 0) {
      const share = stopped ? (row[AT_RECEIVER] ? 0.8 : 0.35) : 0.6;
      const x = x1 + STUB_PX, y = y1 + (y2 - y1) * share;
      line(`M${x1} ${y1}L${x} ${y}`);
      group.append(made("path", stopped ? { class: "dies", d: `M${x - 5} ${y - 5}l10 10m0 -10l-10 10` }
        : { class: "lost", d: `M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0` }));
      label = [x, y + Math.sign(y1 - y2) * -10];
      if (row[TOOK] >= 0) { // held, and let through at last: TCP sent it again
        const again = Math.max(x, x2 - STUB_PX);
        line(`M${x} ${y}H${again}`, "waits");
        line(`M${again} ${y}L${x2} ${y2}`);
        head(group, again, y, x2, y2, row[RESPONSE]);
      }
    } else {
      line(`M${x1} ${y1}L${x2} ${y2}`);
      head(group, x1, y1, x2, y2, row[RESPONSE]);
    }
    const words = apis[row[API]][0] + (row[RESPONSE] ? " ↩" : "") + (stopped ? " stopped" : "");
    labels.push({ row, words, x: label[0] + BESIDE_PX, y: label[1] + 4 });
    return group;
  }

  function head(group, x1, y1, x2, y2, response) {
    const turned = Math.atan2(y2 - y1, x2 - x1) * 180 / Math.PI;
    const half = HEAD / 1.7;
    const d = response ? `M${-HEAD} ${-half}L0 0L${-HEAD} ${half}` : `M0 0L${-HEAD} ${-half}V${half}Z`;
    const transform = `translate(${x2} ${y2}) rotate(${turned})`;
    group.append(made("path", { class: response ? "head open" : "head", transform, d }));
  }

  // Names where they lie on no other: first what was stopped, then what is rare.
  function name(overlay, labels, seen) {
    const count = {}, taken = [];
    for (const one of labels) count[one.row[API]] = (count[one.row[API]] ?? 0) + 1;
    const rank = (one) => (one.row[STOPPED] !== undefined ? 0 : 1e6) + count[one.row[API]];
    for (const one of labels.sort((a, b) => rank(a) - rank(b))) {
      const wide = one.words.length * CHAR_PX;
      if (one.x + wide > seen.wide) one.x -= wide + 2 * BESIDE_PX;
      const free = one.x > seen.names && taken.every((t) => Math.abs(t.y - one.y) > LABEL_PX
        || one.x + wide < t.x || t.x + t.wide < one.x);
      if (!free) continue;
      taken.push({ ...one, wide });
      overlay.append(made("text", { class: "messagename", x: one.x, y: one.y }, one.words));
    }
  }

  // The same as text.
  function list() {
    if (!listed.open) return;
    listed.querySelector("ol").replaceChildren(...last.slice(0, LISTED_MAX).map((row) => {
      const item = document.createElement("li");
      item.textContent = story(row);
      return item;
    }));
  }

  function start() {
    if (!box) return;
    box.hidden = false;
    const counts = {};
    for (const row of rows) counts[kind(row)] = (counts[kind(row)] ?? 0) + 1;
    for (const label of box.querySelectorAll("label")) {
      const input = label.querySelector("input");
      if (!counts[input.value]) { label.hidden = true; continue; }
      label.querySelector("small").textContent = counts[input.value].toLocaleString("en");
      input.checked = !off.includes(input.value);
      if (input.checked) chosen.add(input.value);
    }
    box.querySelector(".left").textContent = note;
    box.addEventListener("change", (event) => {
      if (event.target.checked) chosen.add(event.target.value); else chosen.delete(event.target.value);
      view.soon();
    });
    box.querySelector("button").addEventListener("click", () => view.closer(8));
    listed.addEventListener("toggle", list);
  }

  return { start, draw };
})();
