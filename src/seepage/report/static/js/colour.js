// Colour scale from 0 to epsilon: viridis, distinguishable with any colour vision and in grey.

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
export function scaleColour(share) {
  const at = Math.min(1, Math.max(0, share)) * (VIRIDIS.length - 1);
  const left = Math.min(VIRIDIS.length - 2, Math.floor(at));
  return VIRIDIS[left].map((low, i) => Math.round(low + (at - left) * (VIRIDIS[left + 1][i] - low)));
}

/** A colour as CSS text. */
export function cssColour([red, green, blue]) {
  return `rgb(${red},${green},${blue})`;
}

/** Black or white, whichever is read more easily on a colour [WCAG relative luminance]. */
export function inkOn(colour) {
  const linear = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return luminance > 0.179 ? "#000" : "#fff";
}

/** The whole scale as a CSS gradient. */
export function scaleGradient() {
  return `linear-gradient(to right, ${VIRIDIS.map(cssColour).join(", ")})`;
}

/** The current value of a colour of the style sheet, by name. */
export function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
