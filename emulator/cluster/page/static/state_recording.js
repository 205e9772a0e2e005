// A recording: a first state and the changes after it, of a bounded size. Each state is made of the one before, and
// shares with it what has not changed. `at(ms)` is the state at a moment.
const BYTES_MAX = 12e6, EVERY = 100;

export class Recording {
  constructor({ at_ms, state, changes = [] }) {
    this.first = { at_ms, state };
    this.state = state;
    this.now_ms = at_ms;
    this.changes = [];
    this.bytes = 0;
    this.keyframes = [];
    for (const one of changes) this.add(one);
  }

  get begin_ms() { return this.first.at_ms; }

  add(change) {
    this.now_ms = Math.max(this.now_ms, change.at_ms);
    if (!change.set?.length && !change.remove?.length) return;
    this.state = applied(this.state, change);
    const bytes = JSON.stringify(change).length;
    this.changes.push({ ...change, bytes });
    this.bytes += bytes;
    if (this.changes.length % EVERY === 0) this.keyframes.push({ index: this.changes.length, state: this.state });
    if (this.bytes > BYTES_MAX) this.shorten();
  }

  // Leaves out the older half.
  shorten() {
    const half = this.keyframes[Math.floor(this.keyframes.length / 2)];
    if (!half) return;
    const gone = this.changes.splice(0, half.index);
    this.first = { at_ms: gone.at(-1).at_ms, state: half.state };
    this.bytes -= gone.reduce((sum, one) => sum + one.bytes, 0);
    this.keyframes = this.keyframes.filter((one) => one.index > half.index)
      .map((one) => ({ index: one.index - half.index, state: one.state }));
  }

  at(ms) {
    if (ms >= this.now_ms) return this.state;
    let low = 0, high = this.changes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.changes[middle].at_ms <= ms) low = middle + 1;
      else high = middle;
    }
    const frame = this.keyframes.findLast((one) => one.index <= low);
    let state = frame ? frame.state : this.first.state;
    for (let n = frame ? frame.index : 0; n < low; n++) state = applied(state, this.changes[n]);
    return state;
  }

  data() {
    const changes = this.changes.map(({ at_ms, set, remove }) => ({ at_ms, set, remove }));
    return { ...this.first, changes: [...changes, { at_ms: this.now_ms }] };
  }
}

// The state with a change: first the removals, then the new values. As `state_deltas.applied` on the server.
export function applied(state, { set = [], remove = [] }) {
  const result = { ...state }, copied = new Map([["[]", result]]);
  const inside = (path) => {
    const place = JSON.stringify(path);
    if (!copied.has(place)) {
      const outer = inside(path.slice(0, -1)), key = path.at(-1);
      outer[key] = { ...outer[key] };
      copied.set(place, outer[key]);
    }
    return copied.get(place);
  };
  for (const path of remove) delete inside(path.slice(0, -1))[path.at(-1)];
  for (const [path, value] of set) inside(path.slice(0, -1))[path.at(-1)] = value;
  return result;
}
