// Zoom in time. The picture is stretched to the right; what has a shape of its own (text, dots, marks) keeps it, and
// the names of the nodes keep their place. At zoom 1 all is as it was written, and so it is printed.
const zoom = (() => {
  const MAX = 256, FINE = 8, TICKS = 10, DRAG_PX = 6;
  const SHAPES = "text, circle, .op path, .mark path, .truncation path, .step";
  const pane = document.getElementById("picture"), bar = document.getElementById("zoom");
  const says = bar.querySelector("[role=status]");
  const shown = () => pane.querySelector(".picture:not([hidden])");
  const number = (plot, name) => Number(plot.dataset[name]);
  let times = 1;

  // Where a moment of the picture (in its own units) is in the pane, in pixels from the pane's scrolled beginning.
  const scale = (plot) => plot.getBoundingClientRect().width / plot.viewBox.baseVal.width;
  const px = (plot, x) => (x - plot.viewBox.baseVal.x) * scale(plot);
  const at = (plot, px) => px / scale(plot) + plot.viewBox.baseVal.x;
  const under = (event) => event.clientX - pane.getBoundingClientRect().left + pane.scrollLeft;

  function stretch(picture) {
    const plot = picture.querySelector(".plot"), labels = picture.querySelector(".labels");
    plot.dataset.width ??= plot.viewBox.baseVal.width;
    const whole = number(plot, "width"), left = number(plot, "left"), height = plot.viewBox.baseVal.height;
    const begin = left * (1 - 1 / times), share = (whole - begin) * times / whole;
    plot.setAttribute("viewBox", `${begin} 0 ${whole - begin} ${height}`);
    plot.setAttribute("preserveAspectRatio", times > 1 ? "none" : "xMinYMin meet");
    plot.style.aspectRatio = times > 1 ? `${share * whole} / ${height}` : "";
    picture.style.setProperty("--share", share);
    picture.classList.toggle("zoomed", times > 1);
    picture.classList.toggle("close", times >= FINE);
    plot.querySelector("#hatch")?.setAttribute("patternTransform", `scale(${1 / times} 1) rotate(45)`);
    for (const shape of plot.querySelectorAll(SHAPES)) {
      if (times === 1) { shape.removeAttribute("transform"); continue; }
      if (shape.middle === undefined) {
        const box = shape.getBBox();
        shape.middle = shape.tagName === "text" ? Number(shape.getAttribute("x")) : box.x + box.width / 2;
        // What is not drawn now has no box yet.
        if (!box.width && shape.tagName !== "text") { shape.middle = undefined; continue; }
      }
      shape.setAttribute("transform", `translate(${shape.middle * (1 - 1 / times)} 0) scale(${1 / times} 1)`);
    }
    ticks(plot, whole, left, height);
  }

  function ticks(plot, whole, left, height) {
    for (const old of plot.querySelectorAll(".finer")) old.remove();
    if (times === 1) return;
    const end = Math.max(1, number(plot, "end")), axis = number(plot, "axis");
    const room = end / times / TICKS, ten = 10 ** Math.floor(Math.log10(room));
    const step = Math.max(1, [1, 2, 5, 10].find((one) => one * ten >= room) * ten);
    const add = (name, attributes, text) => {
      const made = document.createElementNS(plot.namespaceURI, name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      if (text) made.textContent = text;
      plot.prepend(made);
      return made;
    };
    for (let n = 1; n * step <= end; n++) {
      const x = left + (whole - left - number(plot, "right")) * n * step / end;
      add("line", { class: "tick finer", x1: x, x2: x, y1: axis - 8, y2: height });
      const said = add("text", { class: "axis finer", x, y: axis - 14, "text-anchor": "middle" }, `${n * step / 1000} s`);
      said.setAttribute("transform", `translate(${x * (1 - 1 / times)} 0) scale(${1 / times} 1)`);
    }
  }

  function tell() {
    const plot = shown().querySelector(".plot"), end = number(plot, "end");
    const left = number(plot, "left"), long = number(plot, "width") - left - number(plot, "right");
    const moment = (x) => (Math.min(1, Math.max(0, (x - left) / long)) * end / 1000).toFixed(2);
    const names = shown().querySelector(".labels").getBoundingClientRect().width;
    says.textContent = times === 1 ? "" : `Shown: ${moment(at(plot, pane.scrollLeft + names))} to ` +
      `${moment(at(plot, pane.scrollLeft + pane.clientWidth))} s.`;
  }

  // `x`: the moment that stays where it is, `keep` pixels from the pane's left edge.
  function to(wanted, x, keep) {
    const before = shown().querySelector(".plot");
    keep ??= pane.clientWidth / 2;
    x ??= at(before, pane.scrollLeft + keep);
    times = Math.min(MAX, Math.max(1, wanted));
    stretch(shown());
    const plot = shown().querySelector(".plot");
    pane.scrollLeft = times === 1 && wanted < 1 ? 0 : px(plot, x) - keep;
    bar.querySelector('[data-by="2"]').disabled = times === MAX;
    for (const by of ["0.5", "0"]) bar.querySelector(`[data-by="${by}"]`).disabled = times === 1;
    tell();
  }

  bar.hidden = false;
  to(1);
  bar.addEventListener("click", (event) => {
    const by = event.target.dataset.by;
    if (by !== undefined) to(times * Number(by));
  });
  pane.addEventListener("scroll", tell);
  pane.addEventListener("keydown", (event) => {
    const by = { "+": 2, "=": 2, "-": 0.5, "0": 0 }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    to(times * by);
  });
  pane.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return; // the page scrolls; a pinch comes with Ctrl
    event.preventDefault();
    const plot = shown().querySelector(".plot");
    to(times * 2 ** (-event.deltaY / 200), at(plot, under(event)), under(event) - pane.scrollLeft);
  }, { passive: false });

  let from = null;
  const mark = document.createElement("div");
  mark.className = "dragged";
  pane.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0 && event.offsetY < pane.clientHeight) from = under(event);
  });
  addEventListener("pointermove", (event) => {
    if (from === null) return;
    const width = Math.abs(under(event) - from);
    if (width > DRAG_PX) pane.append(mark);
    mark.style.left = `${Math.min(from, under(event))}px`;
    mark.style.width = `${width}px`;
  });
  addEventListener("pointerup", (event) => {
    if (from === null) return;
    const plot = shown().querySelector(".plot"), one = at(plot, from), other = at(plot, under(event));
    const wide = Math.abs(under(event) - from);
    from = null;
    mark.remove();
    const names = shown().querySelector(".labels").getBoundingClientRect().width;
    if (wide > DRAG_PX) to(times * (pane.clientWidth - names) / wide, Math.min(one, other), names);
  });
  addEventListener("resize", tell);
  let printed = 1;
  addEventListener("beforeprint", () => { printed = times; to(1); });
  addEventListener("afterprint", () => to(printed));

  // Another partition's picture is shown, or a moment asked for: at least this close, in the middle.
  return {
    again: () => to(times),
    show: (x) => to(times, x),
  };
})();
