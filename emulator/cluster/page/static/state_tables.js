// The same as the map, as tables: every node, every link and every fault, each with its buttons. And what clients did.
import { Keyed, change, epochLetter, html, seconds } from "./page_elements.js";
import { azsOf, inForce, nodeView, nodesIn, pairText, pairsOf } from "./cluster_view.js";

class Table {
  constructor(caption, columns) {
    this.body = html("tbody");
    this.rows = new Keyed(this.body);
    this.element = html("table", {}, undefined, html("caption", {}, caption),
      html("thead", {}, undefined, html("tr", {}, undefined, ...columns.map((one) => html("th", { scope: "col" }, one)))), this.body);
  }

  // `act`: [text of a button, its function]
  row(key, texts, act) {
    const line = this.rows.keep(key, () => {
      const made = html("tr", {}, undefined, html("th", { scope: "row" }), ...texts.slice(1).map(() => html("td")));
      if (act) {
        const button = html("button", { type: "button", "data-key": key }, act[0]);
        button.addEventListener("click", () => act[1](button));
        made.append(html("td", {}, undefined, button));
      }
      return made;
    });
    texts.forEach((text, n) => change(line.children[n], {}, text));
    return line;
  }

  end() { this.rows.end(); }
}

export class StateTables {
  constructor(choose) {
    this.choose = choose;
    this.nodes = new Table("Nodes, each by its own view", ["node", "AZ", "state", "view of the partition", "epoch", "note", "faults"]);
    this.links = new Table("AZs and the links between them", ["place", "state", "faults"]);
    this.element = html("div", { class: "twin" }, undefined, this.nodes.element, this.links.element);
  }

  draw(state, place) {
    const azs = azsOf(state);
    for (const name of azs.flatMap((az) => nodesIn(state, az))) {
      const seen = nodeView(state, name, place), epoch = seen.epoch < 0 ? "" : `${seen.epoch} (${epochLetter(seen.epoch)})`;
      this.nodes.row(name, [name, seen.node.az, seen.health.text, seen.role, epoch, seen.note],
        [`Faults of ${name}`, (button) => this.choose("node", name, button)]);
    }
    for (const az of azs) {
      this.links.row(az, [az, `${nodesIn(state, az).length} nodes`], [`Faults of ${az}`, (button) => this.choose("az", az, button)]);
    }
    for (const [a, b] of pairsOf(azs)) {
      this.links.row(`${a} ${b}`, [`${a} – ${b}`, pairText(state, a, b)],
        [`Faults of ${a} – ${b}`, (button) => this.choose("link", [a, b], button)]);
    }
    this.nodes.end();
    this.links.end();
  }
}

export class FaultsTable {
  constructor(heal) {
    this.heal = heal;
    this.table = new Table("Faults in force", ["fault", "id", "frames stopped", "for", "end"]);
    this.none = html("p", {}, "No fault is in force.");
    this.element = html("div", {}, undefined, this.none, this.table.element);
  }

  draw(state, now_ms) {
    const all = inForce(state);
    change(this.none, { hidden: all.length > 0 });
    change(this.table.element, { hidden: all.length === 0 });
    for (const one of all) {
      this.table.row(one.id, [one.rule, one.id, one.frames_stopped, seconds(Math.max(0, now_ms - one.in_force_ms))],
        [`Heal ${one.id}`, (button) => this.heal(one.id, button)]);
    }
    this.table.end();
  }
}

export class ClientsTable {
  constructor() {
    this.clients = new Table("Workloads", ["workload", "kind", "acknowledged", "failed", "unknown", "read"]);
    this.lag = new Table("Lag of followers, in records behind the leader of the newest epoch", ["replica", "lag"]);
    this.none = html("p", {}, "No workload runs, and no follower is behind.");
    this.element = html("div", {}, undefined, this.none, this.clients.element, this.lag.element);
  }

  draw(state) {
    let clients = 0, behind = 0;
    for (const [name, node] of Object.entries(state.nodes)) {
      for (const [workload, one] of Object.entries(node.workloads)) {
        this.clients.row(`${name} ${workload}`, [`${workload} at ${name}`, one.kind, one.acked, one.failed, one.unknown, one.read]);
        clients++;
      }
    }
    for (const [place, replicas] of Object.entries(state.partitions)) {
      const leader = newestLeader(replicas);
      for (const [name, one] of Object.entries(replicas)) {
        if (!leader || one === leader || one.log_end >= leader.log_end) continue;
        this.lag.row(`${place} ${name}`, [`${place} at ${name}`, leader.log_end - one.log_end]);
        behind++;
      }
    }
    this.clients.end();
    this.lag.end();
    change(this.clients.element, { hidden: !clients });
    change(this.lag.element, { hidden: !behind });
    change(this.none, { hidden: clients + behind > 0 });
  }
}

// Groups by their coordinators: committed offsets, and how far they are behind the leader of the newest epoch.
export class GroupsTable {
  constructor() {
    this.table = new Table("Groups, each by its coordinator's view",
      ["group", "coordinator", "state", "members", "partition", "committed", "lag"]);
    this.none = html("p", {}, "No group has members or committed offsets.");
    this.element = html("div", {}, undefined, this.none, this.table.element);
  }

  draw(state) {
    let rows = 0;
    for (const [name, node] of Object.entries(state.nodes)) {
      for (const [group, one] of Object.entries(node.answered ? node.groups : {})) {
        const places = Object.entries(one.offsets);
        for (const [place, offset] of places.length ? places : [["", ""]]) {
          this.table.row(`${group} ${name} ${place}`, [group, name, one.state, one.members, place, offset, lag(state, place, offset)]);
          rows++;
        }
      }
    }
    this.table.end();
    change(this.table.element, { hidden: !rows });
    change(this.none, { hidden: rows > 0 });
  }
}

function lag(state, place, offset) {
  const leader = newestLeader(state.partitions[place] ?? {});
  return leader && place ? Math.max(0, leader.high_watermark - offset) : "";
}

function newestLeader(replicas) {
  return Object.values(replicas).filter((one) => one.is_leader).sort((a, b) => b.leader_epoch - a.leader_epoch)[0];
}
