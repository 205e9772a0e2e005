// What a reader can do: each with the equal command of the command line, and its request over HTTP.
const word = (text) => (/^[\w.:@=+%/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
const command = (says, words, method, path, body) =>
  ({ says, cli: ["faultline", ...words].map((one) => word(String(one))).join(" "), method, path, body });

const fault = (says, kind, places, amounts = {}, shown = []) =>
  command(says, [kind, ...places, ...shown], "POST", "/v1/faults", { fault: kind, places, ...amounts });

export function onLinks(...places) {
  const where = places.length > 1 ? places.join(" and ") : `${places[0]} from all others`;
  return [
    fault(`Cut ${where}`, "cut", places),
    fault(`Delay ${where} by 50 ms`, "delay", places, { delay_ms: 50 }, ["50ms"]),
    fault(`Lose 10 % between ${where}`, "loss", places, { share: 0.1 }, ["10%"]),
    fault(`Hold ${where}: frames wait for the heal`, "hold", places),
  ];
}

export const oneWay = (from, to) => command(`Cut only what ${from} sends to ${to}`, ["cut", from, "->", to], "POST",
  "/v1/faults", { fault: "cut", places: [from, to], direction: "one-way" });

export const heal = (id) => command(`Heal ${id}`, ["heal", id], "DELETE", `/v1/faults/${id}`);
export const healAll = () => command("Heal every link", ["heal"], "DELETE", "/v1/faults");

export function onNode(name, node) {
  const act = (says, verb) => command(says, [verb, name], "POST", `/v1/nodes/${encodeURIComponent(name)}/${verb}`, {});
  if (node && !node.alive) return [act(`Start ${name}`, "start")];
  if (node?.paused) return [act(`Resume ${name}`, "resume"), act(`Kill ${name}`, "kill")];
  return [act(`Kill ${name} (SIGKILL)`, "kill"), act(`Stop ${name} (SIGTERM)`, "stop"),
    act(`Pause ${name} (SIGSTOP)`, "pause"), act(`Take the power of ${name}`, "power-loss"),
    ...(node ? onLinks(name).slice(0, 1) : [])];
}

export async function carryOut({ method, path, body }, token, run) {
  const headers = { authorization: `Bearer ${token}`, "faultline-run": run };
  const request = { method, headers, cache: "no-store", ...(body ? { body: JSON.stringify(body) } : {}) };
  const reply = await fetch(path, request);
  return { status: reply.status, result: await reply.json() };
}

export const httpText = ({ method, path, body }) => `${method} ${path}${body ? ` ${JSON.stringify(body)}` : ""}`;
