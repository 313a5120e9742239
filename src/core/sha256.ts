// Loading node:crypto costs a quarter of Node's own start, and the commands that scripts ask many
// times a minute need one short hash. FIPS 180-4, for texts of any length.

const WORDS = 64;

/** The first 32 bits of the fractional part of a root of `prime`. */
function fraction(prime: number, root: number): number {
  const value = prime ** (1 / root);
  return Math.floor((value - Math.floor(value)) * 2 ** 32) | 0;
}

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n += 1) {
    if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  }
  return primes;
}

const PRIMES = firstPrimes(WORDS);
const ROUND = Int32Array.from(PRIMES, (prime) => fraction(prime, 3));
const START = Int32Array.from(PRIMES.slice(0, 8), (prime) => fraction(prime, 2));

function turned(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

/** The text's bytes, a one, zeros, and its length in bits: whole blocks of 64 bytes. */
function padded(text: string): DataView {
  const bytes = Buffer.from(text, "utf8");
  const whole = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  whole.set(bytes);
  whole[bytes.length] = 0x80;
  const view = new DataView(whole.buffer);
  view.setUint32(whole.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(whole.length - 4, (bytes.length << 3) >>> 0);
  return view;
}

function schedule(view: DataView, at: number): Int32Array {
  const words = new Int32Array(WORDS);
  for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(at + i * 4);
  const word = (i: number): number => words[i] ?? 0;
  for (let i = 16; i < WORDS; i += 1) {
    const [early, late] = [word(i - 15), word(i - 2)];
    const one = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
    const two = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
    words[i] = (word(i - 16) + one + word(i - 7) + two) | 0;
  }
  return words;
}

function mix(state: Int32Array, words: Int32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < WORDS; i += 1) {
    const high = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const choice = (e & f) ^ (~e & g);
    const one = (h + high + choice + (ROUND[i] ?? 0) + (words[i] ?? 0)) | 0;
    const low = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    const two = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries())
    state[i] = ((state[i] ?? 0) + word) | 0;
}

/** SHA-256 of a short text, in hex. */
export function shortSha256(text: string): string {
  const view = padded(text);
  const state = START.slice();
  for (let at = 0; at < view.byteLength; at += 64) mix(state, schedule(view, at));
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}
