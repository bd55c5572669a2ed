// Numbers out of base64 text.

const NUMBER_TYPES = {
  "<u2": Uint16Array,
  "<u4": Uint32Array,
  "<f4": Float32Array,
  "<f8": Float64Array,
};

/** Return the numbers of a base64 text, little-endian of the given type. */
export function decodeNumbers(text, type) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new NUMBER_TYPES[type](bytes.buffer);
}
