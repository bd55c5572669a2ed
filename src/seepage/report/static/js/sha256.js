// SHA-256 [FIPS 180-4]: the browser's own is not at hand on pages opened from a file.

const SHA_PRIMES = firstPrimes(64);
const SHA_ROUNDS = Uint32Array.from(SHA_PRIMES, (prime) => fractionBits(Math.cbrt(prime)));
const SHA_START = Uint32Array.from(SHA_PRIMES.slice(0, 8), (prime) => fractionBits(Math.sqrt(prime)));

function firstPrimes(count) {
  const primes = [];
  for (let n = 2; primes.length < count; n++) {
    if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  }
  return primes;
}

function fractionBits(number) {
  return Math.floor((number - Math.floor(number)) * 2 ** 32);
}

function rotated(word, by) {
  return (word >>> by) | (word << (32 - by));
}

function paddedMessage(bytes) {
  const length = Math.ceil((bytes.length + 9) / 64) * 64;
  const message = new DataView(new ArrayBuffer(length));
  bytes.forEach((byte, i) => message.setUint8(i, byte));
  message.setUint8(bytes.length, 0x80);
  message.setUint32(length - 8, Math.floor(bytes.length / 2 ** 29));
  message.setUint32(length - 4, (bytes.length << 3) >>> 0);
  return message;
}

function scheduledWords(message, begin) {
  const words = new Uint32Array(64);
  for (let i = 0; i < 16; i++) words[i] = message.getUint32(begin + 4 * i);
  for (let i = 16; i < 64; i++) {
    const early = words[i - 15];
    const late = words[i - 2];
    const small = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3);
    const large = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10);
    words[i] = words[i - 16] + small + words[i - 7] + large;
  }
  return words;
}

function compressed(state, words) {
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const mixed = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const first = (h + mixed + ((e & f) ^ (~e & g)) + SHA_ROUNDS[i] + words[i]) | 0;
    const turned = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    const second = (turned + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  return [a, b, c, d, e, f, g, h].map((word, i) => (word + state[i]) >>> 0);
}

/** Return the SHA-256 of a text's UTF-8 bytes, in hexadecimal. */
export function sha256(text) {
  const message = paddedMessage(new TextEncoder().encode(text));
  let state = Array.from(SHA_START);
  for (let begin = 0; begin < message.byteLength; begin += 64) {
    state = compressed(state, scheduledWords(message, begin));
  }
  return state.map((word) => word.toString(16).padStart(8, "0")).join("");
}
