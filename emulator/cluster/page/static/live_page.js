// The page: it follows a cluster's stream, or plays a recording that is in the file. Both fill a Recording, from which
// everything is drawn.
import { change, html, seconds } from "./page_elements.js";
import { follow } from "./event_stream.js";
import { Recording } from "./state_recording.js";
import { contradictions } from "./cluster_view.js";
import { AzMap } from "./az_map_picture.js";
import { ReplicaLogs } from "./replica_logs.js";
import { ClaimsTimeline } from "./claims_timeline.js";
import { ClientsTable, FaultsTable, GroupsTable, StateTables } from "./state_tables.js";
import { CommandPanel } from "./command_panel.js";
import { StoryPanel } from "./story_panel.js";
import { heal, healAll, oneWay, onLinks, onNode } from "./page_commands.js";

const PLACEHOLDER = '<i hidden id="recording-place"></i>';

class Page {
  constructor(token, run) {
    this.token = token;
    this.run = run;
    this.readOnly = "";
    this.recording = null;
    this.moment = null;
    this.place = "";
    this.waiting = false;
    this.build();
  }

  build() {
    this.title = html("h1", {}, "faultline");
    this.about = html("p", { class: "about" });
    this.state = html("p", { id: "connection", role: "status" }, "Connecting …");
    this.alarm = html("p", { id: "contradictions", role: "status", "aria-live": "assertive" });
    this.choice = html("select", { id: "partition" });
    this.choice.addEventListener("change", () => { this.place = this.choice.value; this.soon(); });
    this.save = html("button", { type: "button", id: "save" }, "Save as report");
    this.save.addEventListener("click", () => this.saveReport());
    const everything = html("button", { type: "button", id: "heal-all" }, "Heal every link");
    everything.addEventListener("click", () => this.panel.open("Heal every link", [healAll()], everything));
    this.panel = new CommandPanel(() => ({ token: this.token, run: this.run, name: this.recording?.state.run.name ?? "", why: this.readOnly }));
    const choose = (kind, name, from) => this.choose(kind, name, from);
    this.map = new AzMap(choose);
    this.tables = new StateTables(choose);
    this.faults = new FaultsTable((id, from) => this.panel.open(`Heal ${id}`, [heal(id)], from));
    this.clients = new ClientsTable();
    this.groups = new GroupsTable();
    this.logs = new ReplicaLogs();
    this.timeline = new ClaimsTimeline((ms) => { this.moment = ms; this.soon(); });
    this.story = new StoryPanel((title, command, from) => this.panel.open(title, [command], from),
      (ms) => { this.moment = ms; this.soon(); });
    this.storySection = section("story", "Story", this.story.element);
    this.findings = html("ol", { id: "findings", "aria-live": "polite" });
    this.noFindings = html("p", {}, "None. faultline audit --follow reports findings while the cluster runs.");
    this.body = html("main", { tabindex: -1, hidden: true }, undefined,
      html("div", { class: "column" }, undefined,
        section("map", "Cluster", html("p", { class: "tools" }, undefined, html("label", { for: "partition" }, "Partition "), this.choice), this.map.element),
        section("logs", "Logs", this.logs.element),
        section("timeline", "Timeline", this.timeline.element),
        html("section", {}, undefined, html("details", { id: "twin" }, undefined, html("summary", {}, "The map as tables"), this.tables.element))),
      html("div", { class: "column" }, undefined,
        this.storySection,
        section("faults", "Faults on links", this.faults.element, everything),
        section("found", "Findings", this.noFindings, this.findings),
        section("clients", "Clients and lag", this.clients.element),
        section("groups", "Groups", this.groups.element)));
    document.body.append(html("header", {}, undefined, this.title, this.about, this.state, this.save), this.alarm, this.panel.element, this.body);
  }

  choose(kind, name, from) {
    const state = this.recording.at(this.moment ?? Infinity);
    if (kind === "az") this.panel.open(`Faults of ${name}`, [...onLinks(name), ...onNode(name)], from);
    else if (kind === "link") {
      const [a, b] = name;
      this.panel.open(`Link ${a} – ${b}`, [...onLinks(a, b), oneWay(a, b), oneWay(b, a)], from);
    } else this.panel.open(`Faults of ${name}`, onNode(name, state.nodes[name]), from);
  }

  async live() {
    await follow(this.token, {
      event: (kind, data) => this.take(kind, data),
      state: (state, text, access) => this.connected(state, text, access),
    });
  }

  take(kind, data) {
    if (kind === "snapshot") {
      const { id, name } = data.state.run;
      if (this.run && id !== this.run) {
        this.otherCluster = true;
        return this.refuse(`This address belongs to another cluster than ${name} (run ${id}). Open the address that faultline up printed.`);
      }
      this.run = id;
      if (!this.recording || data.at_ms < this.recording.now_ms) this.play(new Recording(data));
      else this.recording.add({ at_ms: data.at_ms, set: Object.entries(data.state).map(([key, value]) => [[key], value]) });
    } else this.recording.add(data);
    this.soon();
  }

  connected(state, text, access) {
    if (this.otherCluster) return;
    if (state === "refused") return this.refuse(text);
    if (access === "read-only") this.readOnly = "This token is read-only: the page shows the command and does not apply it.";
    if (state === "ended") this.readOnly = "The cluster has ended.";
    change(this.state, { class: state }, state === "live" ? `Live${access === "read-only" ? ", read-only" : ""}` : text);
  }

  refuse(text) {
    this.readOnly = text;
    this.body.hidden = true;
    change(this.state, { class: "refused", role: "alert" }, text);
  }

  play(recording) {
    this.recording = recording;
    this.body.hidden = false;
    this.timeline.forget();
  }

  soon() {
    if (!this.waiting) requestAnimationFrame(() => { this.waiting = false; this.draw(); });
    this.waiting = true;
  }

  draw() {
    if (!this.recording || this.body.hidden) return;
    const { recording } = this, now_ms = this.moment ?? recording.now_ms, state = recording.at(now_ms), { run } = state;
    document.title = `${run.name}: faultline`;
    change(this.title, {}, run.name);
    const past = this.moment === null ? "" : ", a moment of the past";
    change(this.about, {}, `run ${run.id} · Kafka ${run.kafka} · clock x${run.speed} · ${seconds(now_ms)}${past}${run.ready ? "" : ` · ${run.lacking}`}`);
    this.partitions(state);
    this.map.draw(state, this.place);
    this.tables.draw(state, this.place);
    this.faults.draw(state, now_ms);
    this.clients.draw(state);
    this.groups.draw(state);
    this.logs.draw(state, this.place);
    this.timeline.draw(recording, this.place, this.moment);
    change(this.alarm, {}, contradictions(state).join(". "));
    change(this.storySection, { hidden: state.story.length === 0 });
    this.story.draw(state.story, now_ms);
    this.found(state);
  }

  partitions(state) {
    const all = Object.keys(state.partitions);
    if ([...this.choice.options].map((one) => one.value).join() !== all.join()) {
      this.choice.replaceChildren(...all.map((one) => html("option", { value: one }, one)));
    }
    if (!all.includes(this.place)) this.place = all.find((one) => !one.startsWith("__")) ?? all[0] ?? "";
    if (this.choice.value !== this.place) this.choice.value = this.place;
  }

  // Findings are added and changed in place, so that a screen reader reports what is new.
  found(state) {
    change(this.noFindings, { hidden: state.findings.length > 0 });
    state.findings.forEach((one, n) => {
      const item = this.findings.children[n] ?? this.findings.appendChild(html("li"));
      const text = `${one.violation ? "✗" : "·"} ${seconds(one.at_ms)} ${one.finding}${one.partition ? ` ${one.partition}` : ""}: ${one.text}${one.lasts ? " (lasts)" : ""}`;
      change(item, { class: one.violation ? "bad" : "" }, text);
    });
    while (this.findings.children.length > state.findings.length) this.findings.lastChild.remove();
  }

  async saveReport() {
    const reply = await fetch("/page/saved_page.html", { cache: "no-store" });
    const text = await reply.text(), name = `${this.recording.state.run.name}-${this.run}.html`;
    const escaped = JSON.stringify(this.recording.data()).replace(/[<>&\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
    const parts = text.split(PLACEHOLDER);
    const file = new Blob([parts[0], `<script type="application/json" id="recording">${escaped}</`, "script>", parts.slice(1).join(PLACEHOLDER)],
      { type: "text/html" });
    const link = html("a", { href: URL.createObjectURL(file), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
}

function section(id, title, ...children) {
  return html("section", { id: `${id}-section`, "aria-labelledby": `${id}-title` }, undefined, html("h2", { id: `${id}-title` }, title), ...children);
}

function start() {
  const island = document.getElementById("recording");
  if (island) {
    const page = new Page("", "");
    page.play(new Recording(JSON.parse(island.textContent)));
    page.run = page.recording.state.run.id;
    page.readOnly = "This is a recording: the page shows the command and does not apply it.";
    page.save.remove();
    change(page.state, { class: "recorded" }, "A recording");
    page.moment = page.recording.begin_ms;
    page.soon();
    return page;
  }
  const given = new URLSearchParams(location.hash.slice(1)), page = new Page(given.get("token") ?? "", given.get("run") ?? "");
  addEventListener("hashchange", () => location.reload());
  if (!page.token) page.refuse("No token in this address. Open the address that faultline up --page printed.");
  else page.live();
  return page;
}

globalThis.page = start();
