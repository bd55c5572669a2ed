// The map of an analysis: a box or two selects choose a pair, a slider the noise.
// Texts come from Python; text from the data only ever becomes text nodes.

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const content = JSON.parse(document.getElementById("content").textContent);
const map = content.map;

function byId(id) {
  return document.getElementById(id);
}

class PairMap {
  constructor() {
    this.count = map.names.length;
    this.at = map.analysed;
    this.buttons = new Map();
    for (const button of document.querySelectorAll("#map-table button")) {
      this.buttons.set(Number(button.dataset.pair), button);
    }
    [this.target, this.source] = map.pair;
    byId("map-table").addEventListener("click", (event) => this.click(event));
    byId("map-table").addEventListener("keydown", (event) => this.key(event));
    byId("pair-source").addEventListener("change", () => this.choose());
    byId("pair-target").addEventListener("change", () => this.choose());
    byId("noise").addEventListener("input", (event) => this.setNoise(Number(event.target.value)));
    this.setPair(this.target, this.source);
  }

  click({ target }) {
    const button = target.closest("button");
    if (button) this.open(Number(button.dataset.pair));
  }

  /** Move from box to box with the arrow keys, past the empty ones. */
  key(event) {
    const move = ARROWS[event.key];
    const button = event.target.closest("button");
    if (!move || !button) return;
    event.preventDefault();
    let row = Math.floor(Number(button.dataset.pair) / this.count);
    let column = Number(button.dataset.pair) % this.count;
    do {
      row = (row + move[0] + this.count) % this.count;
      column = (column + move[1] + this.count) % this.count;
    } while (row === column);
    this.setPair(row, column);
    this.buttons.get(row * this.count + column).focus();
  }

  open(pair) {
    this.setPair(Math.floor(pair / this.count), pair % this.count);
  }

  choose() {
    this.setPair(Number(byId("pair-target").value), Number(byId("pair-source").value));
  }

  setPair(target, source) {
    this.target = target;
    this.source = source;
    byId("pair-source").value = source;
    byId("pair-target").value = target;
    const chosen = target * this.count + source;
    for (const [pair, button] of this.buttons) {
      button.setAttribute("aria-pressed", pair === chosen);
      button.tabIndex = pair === chosen ? 0 : -1;
    }
    this.showPair();
  }

  /** Show the map at another amount of noise. */
  setNoise(at) {
    const stop = map.stops[at];
    this.at = at;
    for (const [pair, button] of this.buttons) {
      const [text, step] = stop.cells[pair];
      button.textContent = text;
      button.className = `heat-${step}`;
    }
    document.querySelectorAll("[data-step]").forEach((text) => {
      text.textContent = stop.legend[Number(text.dataset.step)];
    });
    const words = `${stop.noise} times${at === map.analysed ? ", as analysed" : ""}`;
    byId("noise-value").textContent = words;
    byId("noise").setAttribute("aria-valuetext", words);
    byId("whatif").hidden = at === map.analysed;
    this.showPair();
  }

  showPair() {
    const pair = this.target * this.count + this.source;
    const picture = map.pairs[pair];
    const isAnalysed = this.at === map.analysed;
    byId("pair-bars").hidden = !picture || !isAnalysed;
    if (this.target === this.source) {
      byId("pair-odds").textContent = "";
      byId("pair-sentence").textContent = "Choose two different questions.";
      byId("pair-bars").hidden = true;
      return;
    }
    byId("pair-odds").textContent = `${map.stops[this.at].odds[pair]} times`;
    if (!picture) {
      byId("pair-sentence").textContent = "It tells nothing.";
      return;
    }
    const [sentence, kinds] = picture;
    byId("pair-sentence").textContent = (isAnalysed ? "" : "As analysed: ") + sentence;
    kinds.forEach(([kind, percent], index) => {
      byId(`pair-kind-${index}`).textContent = kind;
      byId(`pair-bar-${index}`).setAttribute("width", `${percent}%`);
      byId(`pair-percent-${index}`).textContent = `${percent} %`;
    });
  }
}

/** Save a table of the analysis as CSV. */
function save({ dataset }) {
  const subject = document.querySelector(".bar .file").textContent;
  const name = subject.replace(/[^\p{L}\p{N}.-]+/gu, "-").slice(0, 40) || "seepage";
  const href = URL.createObjectURL(new Blob([content.csv[dataset.save]], { type: "text/csv" }));
  const link = document.createElement("a");
  link.href = href;
  link.download = `${name}-${dataset.save}.csv`;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(href), 1000);
}

if (map) window.seepage = new PairMap();
for (const button of document.querySelectorAll("[data-save]")) {
  button.addEventListener("click", () => save(button));
}
document.documentElement.dataset.ready = "yes";
