// The timeline of a recording: who claimed to lead the partition, in which epoch, and the faults on links. It is drawn
// from the recording's changes, a few new ones at a time.
import { change, epochClass, epochLetter, html, seconds, svg } from "./page_elements.js";
import { claims } from "./cluster_view.js";
import { applied } from "./state_recording.js";

const TIMELINE_WIDTH = 960, LEFT = 96, LANE = 24, SPANS_MAX = 1000;

export class ClaimsTimeline {
  // `look(ms)`: a moment was chosen; null: the newest.
  constructor(look) {
    this.element = html("div", { class: "timeline" });
    this.picture = svg("svg", { role: "img" });
    this.slider = html("input", { type: "range", id: "moment", min: 0, max: 1, step: 1, "aria-label": "Moment" });
    this.output = html("output", { for: "moment" });
    this.now = html("button", { type: "button" }, "Now");
    this.slider.addEventListener("input", () => look(Number(this.slider.value)));
    this.now.addEventListener("click", () => look(null));
    this.element.append(this.picture, html("p", { class: "tools" }, undefined,
      html("label", { for: "moment" }, "Moment "), this.slider, this.output, this.now));
    this.forget();
  }

  forget() {
    this.done = { recording: null, place: "", count: 0, state: null, names: new Set(), open: new Map(), spans: [] };
  }

  draw(recording, place, moment) {
    const begin = recording.begin_ms, end = Math.max(begin + 1, recording.now_ms);
    change(this.slider, { min: Math.floor(begin), max: Math.ceil(end) });
    this.slider.value = Math.round(moment ?? end);
    const text = moment === null ? `${seconds(end)}, now` : seconds(moment);
    change(this.slider, { "aria-valuetext": text });
    change(this.output, {}, text);
    change(this.now, { disabled: moment === null });
    this.gather(recording, place);
    const names = [...this.done.names].sort((a, b) => a.localeCompare(b, "en", { numeric: true })), lanes = [...names, "links"];
    const x = (ms) => LEFT + (TIMELINE_WIDTH - LEFT) * (Math.min(end, Math.max(begin, ms)) - begin) / (end - begin);
    const shapes = lanes.map((name, n) => svg("text", { x: 0, y: n * LANE + 17, class: "lane" }, name));
    const told = [];
    for (const span of [...this.done.spans, ...this.done.open.values()]) {
      const lane = lanes.indexOf(span.name), until = span.to ?? end;
      if (lane < 0) continue;
      const wide = Math.max(1.5, x(until) - x(span.from));
      shapes.push(svg("rect", { x: x(span.from), y: lane * LANE + 3, width: wide, height: LANE - 6, class: `span ${epochClass(span.epoch)}` }));
      if (wide > 14) shapes.push(svg("text", { x: x(span.from) + 4, y: lane * LANE + 16, class: "letter start" }, epochLetter(span.epoch)));
      told.push(`${span.name} claimed to lead in epoch ${span.epoch} from ${seconds(span.from)} to ${seconds(until)}`);
    }
    for (const fault of Object.values(recording.state.faults)) {
      if (fault.in_force_ms === null) continue;
      const until = fault.healed_ms ?? end;
      shapes.push(svg("rect", { x: x(fault.in_force_ms), y: (lanes.length - 1) * LANE + 3, height: LANE - 6, class: "span fault",
        width: Math.max(1.5, x(until) - x(fault.in_force_ms)) }));
      told.push(`${fault.rule} from ${seconds(fault.in_force_ms)} to ${fault.healed_ms === null ? "now" : seconds(until)}`);
    }
    const here = x(moment ?? end);
    shapes.push(svg("line", { x1: here, x2: here, y1: 0, y2: lanes.length * LANE, class: "here" }));
    this.picture.replaceChildren(...shapes);
    change(this.picture, { viewBox: `0 0 ${TIMELINE_WIDTH} ${lanes.length * LANE}`, "aria-label": `Timeline. ${told.slice(-8).join(". ")}.` });
  }

  // Spans of the changes that were not looked at yet.
  gather(recording, place) {
    let done = this.done;
    if (done.recording !== recording || done.place !== place || done.count > recording.changes.length || done.first !== recording.first) {
      done = this.done = { recording, place, count: 0, state: recording.first.state, first: recording.first, names: new Set(), open: new Map(), spans: [] };
      this.claimed(recording.begin_ms);
    }
    for (; done.count < recording.changes.length; done.count++) {
      const one = recording.changes[done.count];
      done.state = applied(done.state, one);
      this.claimed(one.at_ms);
    }
  }

  claimed(at_ms) {
    const { names, open, spans, state, place } = this.done;
    for (const name of Object.keys(state.partitions[place] ?? {})) names.add(name);
    const now = new Map(claims(state, place).map((one) => [`${one.name} ${one.epoch}`, one]));
    for (const [key, span] of open) {
      if (now.has(key)) continue;
      spans.push({ ...span, to: at_ms });
      open.delete(key);
    }
    for (const [key, one] of now) if (!open.has(key)) open.set(key, { ...one, from: at_ms });
    if (spans.length > SPANS_MAX) spans.splice(0, SPANS_MAX / 2);
  }
}
