// Logs: what every replica of the partition held at the moment that is looked at, offset under offset.
const logs = (() => {
  const APPEND = 0, CUT = 1, LOAD = 2, DELETE = 4, EPOCHS = 4, COLUMN_PX = 50, BESIDE_PX = 260, COLUMNS_MIN = 6;
  const place = document.getElementById("logs"), ended = document.getElementById("ended");
  const known = data.logs;
  let from = null, drawnAt = 0; // the first offset that somebody asked for

  // Batches as [base, last, epoch, content], those that were cut off as [..., when], and the rest of a replica at `ms`.
  function replay(replica, ms) {
    let held = [], gone = [];
    for (const [at, kind, base, last, epoch, content] of replica.steps) {
      if (at > ms) break;
      if (kind === APPEND) { held.push([base, last, epoch, content]); continue; }
      const keeps = kind === CUT || kind === LOAD ? base : 0;
      const kept = [];
      for (const batch of held) {
        if (batch[1] < keeps) kept.push(batch);
        else if (batch[3] === 0 && batch[0] < keeps) { // several plain batches in one
          kept.push([batch[0], keeps - 1, batch[2], 0]);
          gone.push([keeps, batch[1], batch[2], 0, at]);
        } else gone.push([...batch, at]);
      }
      held = kept;
      if (kind > LOAD) gone = kind === DELETE ? [] : gone;
    }
    const during = (spans) => spans.find(([begin, end]) => begin <= ms && ms <= end);
    let mark = 0;
    for (const [at, offset] of replica.marks) { if (at > ms) break; mark = offset; }
    const leads = during(replica.leads);
    return { node: replica.node, held, gone, mark, alive: Boolean(during(replica.alive)),
      role: !during(replica.alive) ? "down" : leads ? `leader, epoch ${leads[2]}` : "follower",
      end: held.length ? held[held.length - 1][1] + 1 : 0 };
  }

  const over = (a, b) => a[0] <= b[1] && b[0] <= a[1];
  const differs = (batch, states, own) => batch[3] !== 0 && states.some((other) => other !== own
    && other.held.some((one) => over(one, batch) && one[3] !== batch[3]));

  function element(name, css, text = "") {
    const one = document.createElement(name);
    if (css) one.className = css;
    one.textContent = text;
    return one;
  }

  function draw(ms) {
    drawnAt = ms;
    const partition = known[view.picture()];
    if (!place || !partition) return;
    const states = partition.replicas.map((replica) => replay(replica, ms));
    const all = states.flatMap((state) => [...state.held, ...state.gone]);
    const high = Math.max(1, ...all.map((batch) => batch[1] + 1));
    const apart = states.flatMap((state) => state.held.filter((batch) => differs(batch, states, state)));
    const first = apart.length ? Math.min(...apart.map((batch) => batch[0])) : null;
    const columns = Math.max(COLUMNS_MIN, Math.floor((place.clientWidth - BESIDE_PX) / COLUMN_PX));
    const tail = Math.max(0, high - columns);
    const low = high <= columns ? 0 : Math.max(0, Math.min(tail, from ?? (first === null ? tail : first - 2)));
    const to = Math.min(high, low + columns);
    place.querySelector("h3").textContent = `Logs at ${seconds(ms)}`;
    const said = first === null ? "The replicas agree wherever more than one has a record." :
      `The replicas differ from offset ${first} on.`;
    place.querySelector("[role=status]").textContent = said;
    const range = place.querySelector(".range");
    range.hidden = high <= columns;
    place.classList.toggle("islong", !range.hidden);
    range.querySelector("input").max = tail;
    range.querySelector("input").value = low;
    range.querySelector("span").textContent = `to ${to - 1}, of ${high}`;
    const bars = range.hidden ? [] : states.map((one) => whole(one, states, high, low, to));
    place.querySelector(".whole").replaceChildren(...bars);
    const table = place.querySelector("table");
    table.replaceChildren(header(low, to), ...states.flatMap((state) => rows(state, states, low, to, partition)));
  }

  function header(low, to) {
    const row = element("tr");
    row.append(element("th", "", "Offset"));
    for (let offset = low; offset < to; offset++) row.append(element("th", "", String(offset)));
    row.append(element("th", "", "Log end"), element("th", "", "High watermark"));
    const head = element("thead");
    head.append(row);
    return head;
  }

  function rows(state, states, low, to, partition) {
    const body = element("tbody", state.alive ? "" : "down"), row = element("tr"), name = element("th", "", state.node);
    name.scope = "row";
    name.append(element("small", "", state.role));
    row.append(name);
    let offset = low, epoch = null;
    const gap = (until) => {
      for (; offset < Math.min(until, to); offset++) row.append(element("td", offset === state.mark ? "mark" : ""));
    };
    for (const batch of state.held) {
      const fresh = batch[2] !== epoch;
      epoch = batch[2];
      if (batch[1] < low || batch[0] >= to) continue;
      gap(batch[0]);
      row.append(cell(batch, offset, to, partition, {
        epoch: fresh ? `${epoch}@${batch[0]}` : offset === low && `epoch ${epoch}`,
        mark: batch[0] === state.mark && state.mark > 0,
        differs: differs(batch, states, state),
      }));
      offset = Math.min(to, batch[1] + 1);
    }
    gap(to);
    row.append(element("td", "count", String(state.end)), element("td", "count", String(state.mark)));
    body.append(row);
    const cut = state.gone.filter((batch) => batch[1] >= low && batch[0] < to);
    if (cut.length) body.append(ghosts(cut, low, to, partition));
    return [body];
  }

  // What was cut off, and when: the last of each offset.
  function ghosts(cut, low, to, partition) {
    const row = element("tr", "gone"), name = element("th", "", "cut off"), last = new Map();
    name.scope = "row";
    name.append(element("small", "", `at ${[...new Set(cut.map((batch) => seconds(batch[4])))].slice(-2).join(", ")}`));
    row.append(name);
    for (const batch of cut) last.set(batch[0], batch);
    let offset = low;
    for (const batch of [...last.values()].sort((a, b) => a[0] - b[0])) {
      if (batch[1] < offset || batch[0] >= to) continue;
      for (; offset < batch[0]; offset++) row.append(element("td"));
      row.append(cell(batch, offset, to, partition, { epoch: `epoch ${batch[2]}`, gone: true }));
      offset = Math.min(to, batch[1] + 1);
    }
    for (; offset < to; offset++) row.append(element("td"));
    row.append(element("td"), element("td"));
    return row;
  }

  function cell(batch, offset, to, partition, is) {
    const [base, last, epoch, content] = batch, value = partition.values[content] ?? "";
    const lost = is.gone && partition.lost.includes(content);
    const css = ["batch", `b${epoch % EPOCHS}`, is.differs && "differs", is.gone && "cutoff", is.mark && "mark"];
    const one = element("td", css.filter(Boolean).join(" "));
    one.colSpan = Math.min(last + 1, to) - offset;
    // What tells values apart is at their end.
    const shown = last > base ? `${last - base + 1} records` : value.length > 6 ? `…${value.slice(-5)}` : value;
    one.append(element(is.gone ? "s" : "span", "", shown || "·"));
    if (is.differs) one.append(element("b", "", "≠"));
    if (lost) one.append(element("b", "", "×"));
    if (is.epoch) one.append(element("small", "", is.epoch));
    one.dataset.tip = `${last > base ? `offsets ${base} to ${last}` : `offset ${base}`}, leader epoch ${epoch}` +
      `${value ? `: ${value}` : ""}${is.differs ? "; another replica has something else here" : ""}` +
      `${is.gone ? `; cut off at ${seconds(batch[4])}` : ""}${lost ? "; it was acknowledged" : ""}`;
    return one;
  }

  // A long log as one bar: its epochs, where it differs, how far it is committed, what of it the table shows.
  function whole(state, states, high, low, to) {
    const bar = made("svg", { viewBox: `0 0 ${high} 10`, preserveAspectRatio: "none", role: "img",
      "aria-label": `${state.node}: log end ${state.end}` });
    const add = (css, begin, end, y = 0, height = 10) =>
      bar.append(made("rect", { class: css, x: begin, y, width: Math.max(0, end - begin), height }));
    let run = null;
    for (const batch of [...state.held, [Infinity, Infinity, null]]) {
      if (run && run[2] === batch[2]) { run[1] = batch[1]; continue; }
      if (run) add(`e${run[2] % EPOCHS}`, run[0], run[1] + 1);
      if (run && batch[2] !== null) bar.append(made("path", { class: "edge", d: `M${batch[0]} 0V10` }));
      run = [...batch];
    }
    for (const batch of state.held) if (differs(batch, states, state)) add("apart", batch[0], batch[1] + 1, 0, 10);
    add("committed", 0, state.mark, 8.6, 1.4);
    add("window", low, to);
    const line = element("div", "", "");
    line.append(element("span", "", state.node), bar);
    return line;
  }

  // To the change of any replica's log before or after this moment.
  function step(by) {
    const partition = known[view.picture()];
    if (!partition) return;
    const times = [...new Set(partition.replicas.flatMap((one) => one.steps.map(([at]) => at)))].sort((a, b) => a - b);
    const to = by > 0 ? times.find((at) => at > drawnAt) : times.findLast((at) => at < drawnAt);
    if (to !== undefined) view.look(to);
  }

  function start() {
    document.getElementById("moment").addEventListener("click", (event) => {
      if (event.target.dataset.to) step(Number(event.target.dataset.to));
    });
    if (!place || !known.length) return;
    place.hidden = false;
    ended.open = false;
    const input = place.querySelector(".range input");
    input.addEventListener("input", () => { from = input.value === "" ? null : Number(input.value); draw(drawnAt); });
  }

  return { start, draw };
})();
