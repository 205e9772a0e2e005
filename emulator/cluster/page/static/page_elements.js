// Elements of HTML and SVG, made once and changed in place: focus stays where it is while the state changes.
const SVG = "http://www.w3.org/2000/svg";

export function change(element, attributes, text) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value === true ? "" : value)) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  if (text !== undefined && element.textContent !== String(text)) element.textContent = text;
  return element;
}

export function html(name, attributes = {}, text = undefined, ...children) {
  const element = change(document.createElement(name), attributes, text);
  element.append(...children);
  return element;
}

export function svg(name, attributes = {}, text = undefined, ...children) {
  const element = change(document.createElementNS(SVG, name), attributes, text);
  element.append(...children);
  return element;
}

// Children of an element by key: `keep` returns the known one or makes it, `end` removes the others.
export class Keyed {
  constructor(parent) {
    this.parent = parent;
    this.known = new Map();
    this.used = new Set();
  }

  keep(key, make) {
    this.used.add(key);
    if (!this.known.has(key)) {
      const element = make();
      this.known.set(key, element);
      this.parent.append(element);
    }
    return this.known.get(key);
  }

  end() {
    for (const [key, element] of this.known) {
      if (this.used.has(key)) continue;
      element.remove();
      this.known.delete(key);
    }
    this.used.clear();
  }
}

// What a pointer and the keys Enter and Space do alike.
export function pressed(element, act) {
  element.addEventListener("click", () => act(element));
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act(element);
  });
  return element;
}

export const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

// The sign of a leader epoch: a colour, a letter and a shape. Four colours and shapes take turns.
const SHAPES = ["M0-7a7 7 0 1 1-.01 0z", "M-6.5-6.5h13v13h-13z", "M0-10 10 7H-10z", "M0-8.5 8.5 0 0 8.5-8.5 0z"];
export const epochClass = (epoch) => (epoch < 0 ? "eNone" : `e${epoch % 4}`);
export const epochShape = (epoch) => SHAPES[Math.max(0, epoch) % 4];
export const epochLetter = (epoch) => (epoch < 0 ? "" : String.fromCharCode(65 + (epoch % 26)));
