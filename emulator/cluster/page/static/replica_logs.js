// Logs: the newest offsets of every replica of a partition, offset under offset. A batch has its leader epoch's colour,
// letter and shape; ≠ marks offsets at which replicas hold something else.
import { change, epochClass, epochLetter, html } from "./page_elements.js";

const COLUMNS = 24;

export class ReplicaLogs {
  constructor() {
    this.status = html("p", { role: "status" });
    this.table = html("table", { class: "logs" });
    this.element = html("div", {}, undefined, this.status,
      html("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Logs, offset under offset" }, undefined, this.table));
    this.drawn = "";
  }

  draw(state, place) {
    const replicas = Object.entries(state.partitions[place] ?? {}), logs = state.logs[place] ?? {};
    const key = JSON.stringify([place, replicas.map(([name, one]) => [name, one.log_end, one.high_watermark, one.log_start,
      one.is_leader, one.leader_epoch, state.nodes[name].answered]), logs]);
    if (key === this.drawn) return;
    this.drawn = key;
    if (!replicas.length) {
      change(this.status, {}, "No partition yet.");
      this.table.replaceChildren();
      return;
    }
    const end = Math.max(0, ...replicas.map(([, one]) => one.log_end), ...Object.values(logs).flatMap((all) => all.map((one) => one[1] + 1)));
    const begin = Math.max(0, end - COLUMNS), offsets = Array.from({ length: end - begin }, (_, n) => begin + n);
    const held = new Map(replicas.map(([name]) => [name, cells(logs[name] ?? [])]));
    const differs = offsets.filter((offset) => new Set([...held.values()].map((of) => of.get(offset)?.key).filter(Boolean)).size > 1);
    const apart = new Set(differs);
    this.table.replaceChildren(
      html("thead", {}, undefined, html("tr", {}, undefined, html("th", { scope: "col" }, "offset"),
        ...offsets.map((offset) => html("th", { scope: "col" }, offset)))),
      html("tbody", {}, undefined, ...replicas.map(([name, one]) => row(name, one, held.get(name), offsets, apart, state.nodes[name]))));
    change(this.status, {}, differs.length ? `The replicas of ${place} differ from offset ${differs[0]} on.`
      : Object.keys(logs).length ? `No difference of ${place} in the last ${offsets.length} offsets.` : `The logs of ${place} are not on this machine.`);
  }
}

function cells(batches) {
  const found = new Map();
  for (const [base, last, epoch, text] of batches) {
    for (let offset = Math.max(base, last - COLUMNS); offset <= last; offset++) {
      found.set(offset, { key: `${epoch} ${base} ${text}`, epoch, text: offset === base ? text : "″" });
    }
  }
  return found;
}

function row(name, replica, held, offsets, apart, node) {
  const says = !node.answered ? "as it was last" : replica.is_leader ? `leads, epoch ${replica.leader_epoch}` : "follows";
  const head = html("th", { scope: "row" }, name, );
  head.append(html("small", {}, `${says}; end ${replica.log_end}, high watermark ${replica.high_watermark}`));
  return html("tr", {}, undefined, head, ...offsets.map((offset) => {
    const batch = held.get(offset);
    if (!batch) return html("td", { class: offset < replica.log_end ? "unread" : "" }, offset < replica.log_end ? "…" : "");
    const mark = apart.has(offset) ? "≠" : "";
    const cell = html("td", { class: `${epochClass(batch.epoch)} ${mark ? "differs" : ""} ${offset < replica.high_watermark ? "committed" : ""}` },
      `${batch.text || "·"}`);
    cell.append(html("small", {}, `${batch.epoch < 0 ? "" : epochLetter(batch.epoch)}${mark}`));
    return cell;
  }));
}
