// The steps of a scenario, one after the other. At a running cluster the reader does them; in a recording each step leads
// to its moment.
import { Keyed, change, html, seconds } from "./page_elements.js";

export class StoryPanel {
  // `open(title, command, from)`: the panel of a command. `show(ms)`: the moment of a recording.
  constructor(open, show) {
    this.open = open;
    this.show = show;
    this.next = 0;
    this.list = html("ol", { class: "story" });
    this.steps = new Keyed(this.list);
    this.position = html("p", { role: "status" });
    this.element = html("div", {}, undefined, this.position, this.list);
  }

  draw(story, now_ms) {
    const recorded = story.length > 0 && "at_ms" in story[0];
    if (recorded) this.next = story.filter((one) => one.at_ms <= now_ms).length;
    const position = this.next < story.length ? `Step ${this.next + 1} of ${story.length} is next` : `All ${story.length} steps are done`;
    change(this.position, {}, position);
    story.forEach((one, n) => {
      const item = this.steps.keep(n, () => this.made(one, n, recorded));
      const css = n < this.next ? "done" : n === this.next ? "next" : "later";
      change(item, { class: css, "aria-current": n === this.next ? "step" : null });
    });
    this.steps.end();
  }

  made(one, n, recorded) {
    const text = html("span", {}, recorded ? `${one.text} (${seconds(one.at_ms)})` : one.text);
    const does = recorded ? "Show" : one.command ? "Do this" : "Go on";
    const button = html("button", { type: "button", "aria-label": `${does}: ${one.text}` }, does);
    button.addEventListener("click", () => this.press(one, n, button));
    return html("li", {}, undefined, text, button);
  }

  press(one, n, button) {
    const done = () => this.done(n);
    if ("at_ms" in one) this.show(one.at_ms);
    else if (one.command) this.open(one.text, { says: one.text, cli: one.command, method: one.method, path: one.path, body: one.body ?? undefined, done }, button);
    else {
      done();
      this.list.children[this.next]?.querySelector("button").focus();
    }
  }

  done(n) {
    this.next = Math.max(this.next, n + 1);
    this.show(null);
  }
}
