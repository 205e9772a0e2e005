// View: which part of the run the picture shows, and the moment that is looked at. The pane scrolls as long as the
// picture would be at this zoom, and the picture in it stays where it is and shows that part. What has a shape of its
// own (text, dots, marks) keeps it; a name stays in sight as long as what it names is.
// At zoom 1 all is as it was written, and so it is printed.
const data = JSON.parse(document.getElementById("run").textContent);
const { namespaceURI } = document.querySelector(".patterns");
const made = (name, attributes = {}, text = "") => {
  const element = document.createElementNS(namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
};
const seconds = (ms, digits = 2) => `${(ms / 1000).toFixed(digits)} s`;

const view = (() => {
  const LONG_PX = 16e6, SHOWN_MS_MIN = 5, FINE = 8, TICKS = 10, DRAG_PX = 6, NARROW = 860, PAD = 6, ALONG = 0.12;
  const SHAPES = "text, circle, .op path, .mark path, .truncation path, .step";
  const pane = document.getElementById("picture"), bar = document.getElementById("zoom");
  const says = bar.querySelector("[role=status]"), slider = document.getElementById("at");
  const told = document.querySelector("#moment output");
  const overlay = made("svg", { class: "overlay", "aria-hidden": "true" });
  const end = Math.max(1, data.end), max = Math.max(1, Math.min(LONG_PX / data.width, end / SHOWN_MS_MIN));
  let times = 1, moment = end, left = 0, span = 1, scale = 1, waiting = false;

  const shown = () => pane.querySelector(".picture:not([hidden])");
  const plotted = () => shown().querySelector(".plot");
  const unit = (ms) => left + span * ms / end;
  const px = (ms) => left * scale + (unit(ms) - left) * scale * times - pane.scrollLeft;
  const at = (x) => ((x + pane.scrollLeft - left * scale) / (scale * times)) / span * end;
  const inside = (ms) => Math.min(end, Math.max(0, ms));
  const names = () => shown().querySelector(".labels").getBoundingClientRect().width;
  const under = (event) => event.clientX - pane.getBoundingClientRect().left;

  function resize() {
    const picture = shown(), plot = plotted();
    plot.dataset.height ??= plot.viewBox.baseVal.height;
    left = Number(plot.dataset.left);
    span = data.width - left - Number(plot.dataset.right);
    scale = Math.max(pane.clientWidth, NARROW) / data.width;
    const tall = plot.dataset.height * scale;
    for (const [name, value] of [["--long", left * scale + (data.width - left) * scale * times], ["--tall", tall],
      ["--pane", pane.clientWidth], ["--names", (left - 6) * scale]]) picture.style.setProperty(name, `${value}px`);
    picture.classList.add("live");
    picture.classList.toggle("close", times >= FINE);
    plot.setAttribute("preserveAspectRatio", "none");
    picture.insertBefore(overlay, picture.querySelector(".labels"));
    overlay.setAttribute("viewBox", `0 0 ${pane.clientWidth} ${tall}`);
    for (const pattern of document.querySelectorAll(".patterns pattern")) {
      pattern.dataset.turned ??= pattern.getAttribute("patternTransform");
      pattern.setAttribute("patternTransform", `scale(${1 / times} 1) ${pattern.dataset.turned}`);
    }
    for (const shape of plot.querySelectorAll(SHAPES)) {
      if (shape.middle === undefined) {
        if (shape.tagName === "text") shape.middle = Number(shape.getAttribute("x"));
        else {
          if (!shape.getClientRects().length) continue; // what is not drawn now has no box yet
          const box = shape.getBBox();
          shape.middle = box.x + box.width / 2;
        }
      }
      place(shape, shape.middle);
    }
  }

  function place(shape, x) {
    if (times === 1 && x === shape.middle) shape.removeAttribute("transform");
    else shape.setAttribute("transform", `translate(${x - shape.middle / times} 0) scale(${1 / times} 1)`);
  }

  function draw() {
    waiting = false;
    const plot = plotted(), begin = left + (pane.scrollLeft - left * scale) / (scale * times);
    const wide = pane.clientWidth / (scale * times), height = plot.dataset.height;
    plot.setAttribute("viewBox", `${begin} 0 ${wide} ${height}`);
    const from = inside(at(names())), to = inside(at(pane.clientWidth));
    for (const text of plot.querySelectorAll("text[data-to]")) {
      const room = text.dataset.room / times, begins = text.middle - PAD, ends = Number(text.dataset.to);
      text.classList.toggle("tight", (ends - begins) * times < text.dataset.room);
      place(text, Math.max(begins + PAD / times, Math.min(unit(from) + PAD / times, ends - room)));
    }
    ticks(plot, from, to);
    overlay.replaceChildren();
    shown().classList.toggle("moved", pane.scrollLeft > 0);
    const x = px(moment);
    if (x >= names()) overlay.append(made("line", { class: "here", x1: x, x2: x, y1: 0, y2: height * scale }));
    const picture = Number(shown().dataset.partition);
    messages.draw(overlay, { px, from, to, scale, picture, names: names(), wide: pane.clientWidth });
    says.textContent = from > 0 || to < end ? `Shown: ${seconds(from)} to ${seconds(to)}, of ${seconds(end)}.` : "";
  }

  function ticks(plot, from, to) {
    for (const old of plot.querySelectorAll(".finer")) old.remove();
    plot.classList.toggle("own", times > 1);
    if (times === 1) return;
    const room = (to - from) / TICKS, ten = 10 ** Math.floor(Math.log10(room));
    const step = [1, 2, 5, 10].find((one) => one * ten >= room) * ten, axis = Number(plot.dataset.axis);
    for (let n = Math.max(1, Math.ceil(from / step)); n * step <= to; n++) {
      const x = unit(n * step);
      plot.prepend(made("line", { class: "tick finer", x1: x, x2: x, y1: axis - 8, y2: plot.dataset.height }));
      const said = made("text", { class: "axis finer", x, y: axis - 14, "text-anchor": "middle" },
        `${Number((n * step / 1000).toPrecision(9))} s`);
      said.middle = x;
      place(said, x);
      plot.prepend(said);
    }
  }

  function soon() {
    if (!waiting) requestAnimationFrame(draw);
    waiting = true;
  }

  // `ms`: what stays where it is, `keep` pixels from the pane's left edge; the moment, or the middle if that is not in
  // sight.
  function zoom(wanted, ms, keep) {
    const seen = px(moment) >= names() && px(moment) <= pane.clientWidth;
    keep ??= ms === undefined && seen ? px(moment) : pane.clientWidth / 2;
    ms ??= at(keep);
    times = Math.min(max, Math.max(1, wanted));
    resize();
    pane.scrollLeft += px(ms) - keep;
    if (wanted < 1) pane.scrollLeft = 0;
    bar.querySelector('[data-by="2"]').disabled = times === max;
    for (const by of ["0.5", "0"]) bar.querySelector(`[data-by="${by}"]`).disabled = times === 1;
    draw();
  }

  // The moment that is looked at; `into` the middle of the picture.
  function look(ms, into = false) {
    moment = inside(ms);
    slider.value = Math.round(moment);
    told.textContent = seconds(moment);
    slider.setAttribute("aria-valuetext", seconds(moment));
    const hidden = px(moment) < names() || px(moment) > pane.clientWidth;
    if (into || hidden) pane.scrollLeft += px(moment) - pane.clientWidth / 2;
    logs.draw(moment);
    document.dispatchEvent(new Event("moment"));
    soon();
  }

  // As it was written, for a printer.
  function still() {
    times = 1;
    resize();
    pane.scrollLeft = 0;
    draw();
    const plot = plotted();
    shown().classList.remove("live");
    plot.setAttribute("viewBox", `0 0 ${data.width} ${plot.dataset.height}`);
    overlay.remove();
  }

  function start() {
    for (const hidden of [bar, document.getElementById("moment")]) hidden.hidden = false;
    slider.max = Math.ceil(end);
    slider.addEventListener("input", () => look(Number(slider.value)));
    bar.addEventListener("click", (event) => {
      const by = event.target.dataset.by;
      if (by !== undefined) zoom(times * Number(by));
    });
    pane.addEventListener("scroll", soon);
    pane.addEventListener("keydown", (event) => {
      const by = { "+": 2, "=": 2, "-": 0.5, "−": 0.5, "0": 0 }[event.key];
      const along = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if ((by ?? along) === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      if (by !== undefined) zoom(times * by);
      else if (pane.scrollWidth > pane.clientWidth) pane.scrollLeft += along * ALONG * pane.clientWidth;
      else look(moment + along * end / 100); // all of it is in sight
    });
    pane.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return; // the page scrolls; a pinch comes with Ctrl
      event.preventDefault();
      zoom(times * 2 ** (-event.deltaY / 200), at(under(event)), under(event));
    }, { passive: false });
    drag();
    addEventListener("resize", () => zoom(times, at(names()), names()));
    let printed = 1;
    addEventListener("beforeprint", () => { printed = times; still(); });
    addEventListener("afterprint", () => zoom(printed));
    zoom(1, 0, 0);
    look(end);
    pane.scrollLeft = 0;
  }

  // What a mouse is dragged across fills the pane; a click is a moment.
  function drag() {
    const mark = document.createElement("div");
    mark.className = "dragged";
    let from = null;
    pane.addEventListener("pointerdown", (event) => {
      if (event.button === 0 && event.offsetY < pane.clientHeight && under(event) > names()) from = under(event);
    });
    addEventListener("pointermove", (event) => {
      if (from === null || event.pointerType !== "mouse") return;
      const wide = Math.abs(under(event) - from);
      if (wide > DRAG_PX) pane.append(mark);
      mark.style.left = `${Math.min(from, under(event)) + pane.scrollLeft}px`;
      mark.style.width = `${wide}px`;
    });
    addEventListener("pointercancel", () => { from = null; mark.remove(); });
    addEventListener("pointerup", (event) => {
      if (from === null) return;
      const wide = Math.abs(under(event) - from), begin = at(Math.min(from, under(event)));
      from = null;
      mark.remove();
      if (wide <= DRAG_PX) look(at(under(event)));
      else if (event.pointerType === "mouse") zoom(times * (pane.clientWidth - names()) / wide, begin, names());
    });
  }

  return {
    start, look, soon,
    again: () => zoom(times),
    closer: (by) => zoom(times * by),
    moment: () => moment,
    picture: () => Number(shown().dataset.partition),
  };
})();
