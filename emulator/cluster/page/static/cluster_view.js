// What a state means, for the map and the tables alike: each node's own view, in words and signs.
export function nodeView(state, name, place) {
  const node = state.nodes[name], replica = state.partitions[place]?.[name];
  const leads = Boolean(node.answered && replica?.is_leader), epoch = replica && node.answered ? replica.leader_epoch : -1;
  return { name, node, replica: node.answered ? replica : undefined, leads, epoch, health: health(node),
    note: note(state, name, node), role: roleText(node, replica, leads) };
}

function health(node) {
  if (!node.alive) return { sign: node.incarnation ? "✕" : "·", css: "bad", text: node.incarnation ? "dead" : "not started" };
  if (node.paused) return { sign: "‖", css: "unsure", text: "paused" };
  return node.answered ? { sign: "●", css: "good", text: "runs" } : { sign: "○", css: "unsure", text: "no answer" };
}

function note(state, name, node) {
  if (!node.alive || node.paused || !node.answered) return health(node).text;
  if (node.is_controller) return `controller, epoch ${node.controller_epoch}`;
  if (node.quorum && node.quorum.state !== "observer") return `quorum ${node.quorum.state}, epoch ${node.quorum.epoch}`;
  if (fencedBy(state).has(name)) return "fenced";
  if (node.session && node.session.state !== "connected") return `session ${node.session.state}`;
  if (node.ensemble) return node.ensemble.role;
  return workloadText(node);
}

function fencedBy(state) {
  const active = Object.values(state.nodes).filter((one) => one.is_controller && one.quorum)
    .sort((a, b) => b.controller_epoch - a.controller_epoch)[0];
  return new Set((active?.quorum.fenced ?? []).map((id) => `broker-${id}`));
}

function workloadText(node) {
  const counts = Object.values(node.workloads);
  if (!counts.length) return "";
  const sum = (name) => counts.reduce((total, one) => total + one[name], 0);
  return `✓ ${sum("acked")} ✗ ${sum("failed")} ? ${sum("unknown")} ↓ ${sum("read")}`;
}

function roleText(node, replica, leads) {
  if (!node.answered || !replica) return "";
  if (leads) return `leads, epoch ${replica.leader_epoch}`;
  return replica.leader < 0 ? "knows no leader" : `follows broker-${replica.leader}, epoch ${replica.leader_epoch}`;
}

export function claims(state, place) {
  return Object.entries(state.partitions[place] ?? {})
    .filter(([name, one]) => one.is_leader && state.nodes[name]?.answered)
    .map(([name, one]) => ({ name, epoch: one.leader_epoch })).sort((a, b) => a.epoch - b.epoch);
}

export function contradictions(state) {
  const said = [];
  const ruling = Object.entries(state.nodes).filter(([, one]) => one.is_controller)
    .map(([name, one]) => ({ name, epoch: one.controller_epoch })).sort((a, b) => a.epoch - b.epoch);
  const named = (all) => all.map((one) => `${one.name} (epoch ${one.epoch})`).join(" and ");
  if (ruling.length > 1) said.push(`Two controllers: ${named(ruling)}`);
  for (const place of Object.keys(state.partitions)) {
    const leaders = claims(state, place);
    if (leaders.length > 1) said.push(`Two leaders of ${place}: ${named(leaders)}`);
  }
  return said;
}

export function linkText(link) {
  if (!link) return "open";
  const amount = { delay: `${link.delay_ms} ms${link.jitter_ms ? ` ± ${link.jitter_ms}` : ""}`,
    loss: `${Math.round(link.loss * 100)} % lost`, bandwidth: `${link.bytes_per_s} B/s`, hold: "held" }[link.kind] ?? link.kind;
  return link.whole ? amount : `in part ${amount}`;
}

export function pairText(state, a, b) {
  const there = linkText(state.links[`${a} ${b}`]), back = linkText(state.links[`${b} ${a}`]);
  return there === back ? there : `${a} → ${b}: ${there}; ${b} → ${a}: ${back}`;
}

export const azsOf = (state) => [...new Set(Object.values(state.nodes).map((one) => one.az).filter(Boolean))].sort();

const RANKS = ["broker", "controller", "session", "client"];
export function nodesIn(state, az) {
  const rank = (node) => Math.min(...node.roles.map((role) => (RANKS.indexOf(role) + 9) % 9));
  return Object.entries(state.nodes).filter(([, node]) => node.az === az)
    .sort(([a, one], [b, other]) => rank(one) - rank(other) || a.localeCompare(b, "en", { numeric: true })).map(([name]) => name);
}

export const pairsOf = (azs) => azs.flatMap((a, n) => azs.slice(n + 1).map((b) => [a, b]));
export const inForce = (state) => Object.values(state.faults).filter((one) => one.in_force_ms !== null && one.healed_ms === null);
