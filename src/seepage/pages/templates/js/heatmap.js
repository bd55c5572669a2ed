// The heat map on a canvas, fast enough to follow a slider with 150 attributes.
// Colours from 0 to epsilon: viridis, distinguishable with any colour vision and in grey.

const VIRIDIS = [
  [68, 1, 84],
  [72, 40, 120],
  [62, 74, 137],
  [49, 104, 142],
  [38, 130, 142],
  [31, 158, 137],
  [53, 183, 121],
  [110, 206, 88],
  [181, 222, 43],
  [253, 231, 37],
];

/** Red, green and blue at a position from 0 to 1 of the scale. */
function scaleColour(share) {
  const at = Math.min(1, Math.max(0, share)) * (VIRIDIS.length - 1);
  const left = Math.min(VIRIDIS.length - 2, Math.floor(at));
  return VIRIDIS[left].map((low, i) => Math.round(low + (at - left) * (VIRIDIS[left + 1][i] - low)));
}

/** A colour as CSS text. */
function cssColour([red, green, blue]) {
  return `rgb(${red},${green},${blue})`;
}

/** Black or white, whichever is read more easily on a colour [WCAG relative luminance]. */
function inkOn(colour) {
  const linear = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return luminance > 0.179 ? "#000" : "#fff";
}

/** The whole scale as a CSS gradient. */
function scaleGradient() {
  return `linear-gradient(to right, ${VIRIDIS.map(cssColour).join(", ")})`;
}

/** The current value of a colour of the style sheet, by name. */
function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const CELL_MAX = 44;
const LABEL_FONT = 12;
const UPRIGHT_BELOW = 26;

/** Draws cells, labels and selection; finds the pair at a pointer. */
class HeatMap {
  constructor(canvas, names) {
    this.canvas = canvas;
    this.names = names;
    this.printing = false;
    this.cuts = new Map();
  }

  /** Choose the sizes of cells and labels for a width. */
  resize(width) {
    const count = this.names.length;
    const longest = Math.max(...this.names.map((name) => Array.from(name).length));
    this.label = Math.max(66, Math.min(width * 0.34, 260, 14 + 7 * longest));
    this.head = Math.max(48, Math.min(width < 700 ? 120 : 190, 20 + 6 * longest));
    const minimum = count > 80 ? 7 : 15;
    const maximum = Math.max(CELL_MAX, Math.min(96, 900 / count));
    const fitting = (margin) => Math.floor((width - this.label - margin) / count);
    this.upright = fitting(this.head * 0.8) < UPRIGHT_BELOW;
    const margin = this.upright ? 4 : Math.ceil(this.head * 0.8);
    this.cell = Math.max(minimum, Math.min(maximum, fitting(margin)));
    this.width = Math.ceil(this.label + count * this.cell + margin);
    this.height = Math.ceil(this.head + count * this.cell + 2);
    const scale = Math.max(window.devicePixelRatio || 1, 2);
    this.canvas.width = this.width * scale;
    this.canvas.height = this.height * scale;
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.scale = scale;
  }

  /** Draw the map: row-major values (rows targets) in an order, coloured from 0 to a maximum. */
  draw({ values, order, maximum, selected, hovered }) {
    this.order = order;
    const pen = this.canvas.getContext("2d");
    pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    this.drawCells(pen, values, order, maximum);
    this.drawLabels(pen, order, selected, hovered);
    if (hovered) this.outline(pen, hovered, 1.5);
    if (selected) this.outline(pen, selected, 3);
  }

  /** Draw the cells from a cached layer, redrawn only if values, order or size change. */
  drawCells(pen, values, order, maximum) {
    const { cell, label, head, scale } = this;
    const key = [cell, scale, maximum, this.diagonal()].join();
    if (this.layerKey !== key || this.layerValues !== values || this.layerOrder !== order) {
      this.layer = cell >= 12 ? this.cellLayer(values, order, maximum) : pixelLayer(values, order, maximum);
      Object.assign(this, { layerKey: key, layerValues: values, layerOrder: order });
    }
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.layer, label, head, cell * order.length, cell * order.length);
  }

  /** The colour of the diagonal; in print, that of the light theme. */
  diagonal() {
    return this.printing ? "#e6e8ec" : themeColour("diagonal");
  }

  cellLayer(values, order, maximum) {
    const { cell, scale } = this;
    const count = order.length;
    const side = Math.ceil(cell * count * scale);
    const layer = this.layer && this.layer.width === side ? this.layer : document.createElement("canvas");
    if (layer !== this.layer) layer.width = layer.height = side;
    const pen = layer.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, side, side);
    const diagonal = this.diagonal();
    const digits = cell >= 34 ? 2 : cell >= 22 ? 1 : 0;
    pen.font = `${Math.min(12, Math.floor(cell * 0.42))}px system-ui, sans-serif`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (let i = 0; i < count; i++) {
      for (let j = 0; j < count; j++) {
        const value = values[order[i] * count + order[j]];
        const colour = i === j ? null : scaleColour(maximum > 0 ? value / maximum : 0);
        pen.fillStyle = colour ? cssColour(colour) : diagonal;
        pen.fillRect(j * cell, i * cell, cell - 1, cell - 1);
        if (!digits || !colour) continue;
        pen.fillStyle = inkOn(colour);
        pen.fillText(cellText(value, digits), (j + 0.5) * cell - 0.5, (i + 0.5) * cell);
      }
    }
    return layer;
  }

  drawLabels(pen, order, selected, hovered) {
    const { cell, label, head } = this;
    const size = Math.min(LABEL_FONT, Math.max(9, cell - 2));
    const every = Math.max(1, Math.ceil((size + 1) / cell));
    const ink = this.printing ? "#111" : themeColour("ink");
    const strong = (which, index) => [selected, hovered].some((at) => at && at[which] === index);
    const shown = (which, i) => {
      if (strong(which, order[i])) return true;
      const near = order.slice(Math.max(0, i - every + 1), i + every);
      return i % every === 0 && !near.some((index) => strong(which, index));
    };
    pen.textBaseline = "middle";
    pen.fillStyle = this.printing ? "#444" : themeColour("muted");
    pen.font = `italic ${LABEL_FONT}px system-ui, sans-serif`;
    pen.textAlign = "right";
    pen.fillText("source →", label - 8, head - 28);
    pen.fillText("target ↓", label - 8, head - 12);
    order.forEach((index, i) => {
      pen.fillStyle = ink;
      const middle = i * cell + cell / 2;
      if (shown("target", i)) {
        pen.font = `${strong("target", index) ? "bold " : ""}${size}px system-ui, sans-serif`;
        pen.textAlign = "right";
        pen.fillText(this.fitted(pen, this.names[index], label - 8), label - 5, head + middle);
      }
      if (shown("source", i)) {
        pen.font = `${strong("source", index) ? "bold " : ""}${size}px system-ui, sans-serif`;
        pen.save();
        pen.translate(label + middle, head - 6);
        pen.rotate(this.upright ? -Math.PI / 2 : -Math.PI / 4);
        pen.textAlign = "left";
        pen.fillText(this.fitted(pen, this.names[index], head * (this.upright ? 0.94 : 1.25)), 0, 0);
        pen.restore();
      }
    });
  }

  /** A name shortened to a width in pixels, cached. */
  fitted(pen, name, room) {
    const key = `${pen.font} ${room} ${name}`;
    if (!this.cuts.has(key)) this.cuts.set(key, this.cut(pen, name, room));
    return this.cuts.get(key);
  }

  cut(pen, name, room) {
    if (pen.measureText(name).width <= room) return name;
    let length = Math.max(2, Math.floor(room / 5));
    while (length > 2 && pen.measureText(shortened(name, length)).width > room) length--;
    return shortened(name, length);
  }

  outline(pen, { target, source }, width) {
    const i = this.order.indexOf(target);
    const j = this.order.indexOf(source);
    pen.lineWidth = width;
    pen.strokeStyle = themeColour("mark");
    pen.strokeRect(this.label + j * this.cell - 0.5, this.head + i * this.cell - 0.5, this.cell, this.cell);
  }

  /** The pair under a pointer, null outside of cells. */
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const scale = this.width / box.width;
    const j = Math.floor(((event.clientX - box.left) * scale - this.label) / this.cell);
    const i = Math.floor(((event.clientY - box.top) * scale - this.head) / this.cell);
    const count = this.names.length;
    if (i < 0 || j < 0 || i >= count || j >= count || i === j) return null;
    return { target: this.order[i], source: this.order[j] };
  }
}

/** One pixel per cell, for maps of many attributes. */
function pixelLayer(values, order, maximum) {
  const count = order.length;
  const layer = document.createElement("canvas");
  layer.width = layer.height = count;
  const pen = layer.getContext("2d");
  const image = pen.createImageData(count, count);
  for (let i = 0; i < count; i++) {
    for (let j = 0; j < count; j++) {
      const value = values[order[i] * count + order[j]];
      const colour = i === j ? [150, 155, 160] : scaleColour(maximum > 0 ? value / maximum : 0);
      image.data.set([...colour, 255], 4 * (i * count + j));
    }
  }
  pen.putImageData(image, 0, 0);
  return layer;
}

function cellText(value, digits) {
  if (value >= 10) return value.toFixed(0);
  const text = value.toFixed(digits === 2 ? 2 : value >= 1 ? 1 : 2);
  return digits === 1 && value < 1 ? text.replace(/^0/, "") : text;
}
