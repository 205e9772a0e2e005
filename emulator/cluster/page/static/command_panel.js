// The panel of a command: first it shows the equal command line and HTTP request, then a second press applies it.
import { html } from "./page_elements.js";
import { carryOut, httpText } from "./page_commands.js";

export class CommandPanel {
  // `access()`: {token, run, name, why}; `why`: the reason why nothing can be applied, or "".
  constructor(access) {
    this.access = access;
    this.title = html("h2", { id: "panel-title" });
    this.choices = html("p", { class: "choices" });
    this.shown = html("div", { class: "shown", hidden: true });
    this.result = html("p", { role: "status", class: "result" });
    const close = html("button", { type: "button", class: "close" }, "Close");
    close.addEventListener("click", () => this.close());
    this.element = html("dialog", { id: "panel", "aria-labelledby": "panel-title" }, undefined,
      this.title, this.choices, this.shown, this.result, close);
    this.element.addEventListener("keydown", (event) => { if (event.key === "Escape") this.close(); });
  }

  // `from`: the element that gets the focus back.
  open(title, commands, from) {
    this.from = from;
    this.title.textContent = title;
    this.result.textContent = "";
    this.shown.hidden = true;
    this.choices.replaceChildren(...commands.map((one) => {
      const button = html("button", { type: "button" }, one.says);
      button.addEventListener("click", () => this.show(one, button));
      return button;
    }));
    if (!this.element.open) this.element.show();
    if (commands.length === 1) this.show(commands[0], this.choices.firstChild);
    else this.choices.firstChild.focus();
  }

  show(command, button) {
    const { name, why } = this.access();
    for (const one of this.choices.children) one.setAttribute("aria-pressed", one === button);
    const apply = html("button", { type: "button", class: "apply", disabled: Boolean(why) }, "Apply");
    apply.addEventListener("click", () => this.apply(command, apply));
    this.shown.replaceChildren(html("dl", {}, undefined,
      html("dt", {}, "Command"), html("dd", {}, undefined, html("code", { class: "cli" }, `${command.cli} --cluster ${name}`)),
      html("dt", {}, "HTTP"), html("dd", {}, undefined, html("code", { class: "http" }, httpText(command)))), apply);
    this.shown.hidden = false;
    this.result.textContent = why;
    if (why) button.focus();
    else apply.focus();
  }

  async apply(command, button) {
    const { token, run } = this.access();
    button.disabled = true;
    this.result.textContent = "Under way …";
    try {
      const { status, result } = await carryOut(command, token, run);
      this.result.textContent = status < 300 ? `Done: ${command.cli}${failures(result)}` : result.error;
      if (status < 300) command.done?.();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      this.result.textContent = "The control server is unreachable; the outcome is unknown.";
    }
    button.disabled = false;
    button.focus();
  }

  close() {
    this.element.close();
    const from = this.from?.isConnected ? this.from : document.querySelector("main");
    from.focus();
  }
}

// Errors of a producer's or consumer's requests: the command was carried out, and a broker refused it.
function failures(result) {
  const errors = [...(result.attempts ?? []), result].map((one) => one.error).filter((one) => one);
  return errors.length ? `; the broker's answer was error ${[...new Set(errors)].join(", ")}` : "";
}
