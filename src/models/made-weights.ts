import { elementCount, type TensorHeader, type TensorType } from "./gguf-writer.ts";
import { namedRandom, roughNormal } from "./random.ts";
import { END_OF_TURN, TOKEN_KIND, type Vocabulary } from "./vocabulary.ts";

export interface MadeShape {
  dim: number;
  layers: number;
  heads: number;
  kv_heads: number;
  /** Width of the feed-forward part. */
  ff: number;
  type: TensorType;
  seed: number;
  /** Sharpness of attention: answers then depend on the whole prompt. */
  qk_gain: number;
  /** How much louder the end-of-turn token is than others; 0 = answers never end by themselves. */
  eos_gain: number;
}

export interface MadeTensor extends TensorHeader {
  /** Standard deviation of the weights; 0 = all ones. */
  deviation: number;
}

/** All tensors of a llama-architecture model, in the order of the file. Norms are always f32. */
export function madeTensors(shape: MadeShape, vocabulary_size: number): MadeTensor[] {
  const { dim, ff, type } = shape;
  const kvDim = (dim / shape.heads) * shape.kv_heads;
  const scale = 1 / Math.sqrt(dim);
  const matrix = (name: string, width: number, rows: number, deviation: number): MadeTensor => ({
    name: `${name}.weight`,
    dimensions: [width, rows],
    type,
    deviation,
  });
  const norm = (name: string): MadeTensor => ({
    name: `${name}.weight`,
    dimensions: [dim],
    type: "f32",
    deviation: 0,
  });
  const block = (layer: number): MadeTensor[] => {
    const at = `blk.${layer}`;
    return [
      norm(`${at}.attn_norm`),
      matrix(`${at}.attn_q`, dim, dim, scale * shape.qk_gain),
      matrix(`${at}.attn_k`, dim, kvDim, scale),
      matrix(`${at}.attn_v`, dim, kvDim, scale * 2),
      matrix(`${at}.attn_output`, dim, dim, scale * 2),
      norm(`${at}.ffn_norm`),
      matrix(`${at}.ffn_gate`, dim, ff, scale),
      matrix(`${at}.ffn_up`, dim, ff, scale),
      matrix(`${at}.ffn_down`, ff, dim, 1 / Math.sqrt(ff)),
    ];
  };
  return [
    matrix("token_embd", dim, vocabulary_size, 1),
    ...Array.from({ length: shape.layers }, (_, layer) => block(layer)).flat(),
    norm("output_norm"),
    matrix("output", dim, vocabulary_size, scale * 2),
  ];
}

const single = new Float32Array(1);
const singleBits = new Uint32Array(single.buffer);

/** To half precision, rounded to nearest. The weights are small normals: no infinity, no NaN. */
function toHalf(x: number): number {
  single[0] = x;
  const bits = singleBits[0] ?? 0;
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 112;
  if (exponent <= 0) return sign; // what is below 6e-5 becomes zero
  return sign | (((exponent << 10) | ((bits >>> 13) & 0x3ff)) + ((bits >>> 12) & 1));
}

/**
 * Only tokens of plain text get a row in the output matrix that can win: byte, control and unknown
 * tokens have zero rows, so that answers are readable words and end at the token limit alone,
 * unless `eos_gain` asks for more.
 */
function rowDeviation(
  tensor: MadeTensor,
  row: number,
  shape: MadeShape,
  words: Vocabulary,
): number {
  if (tensor.name !== "output.weight" || words.kinds[row] === TOKEN_KIND.normal) {
    return tensor.deviation;
  }
  return row === END_OF_TURN ? tensor.deviation * shape.eos_gain : 0;
}

/** The bytes of one tensor, little-endian as the file wants them. */
export function tensorData(tensor: MadeTensor, shape: MadeShape, words: Vocabulary): Buffer {
  const [width = 1, rows = 1] = tensor.dimensions;
  const random = namedRandom(shape.seed, tensor.name);
  const count = elementCount(tensor);
  const data = tensor.type === "f32" ? new Float32Array(count) : new Uint16Array(count);
  const convert = tensor.type === "f32" ? (x: number) => x : toHalf;
  for (let row = 0, at = 0; row < rows; row += 1) {
    const deviation = rowDeviation(tensor, row, shape, words);
    for (let column = 0; column < width; column += 1, at += 1) {
      data[at] = tensor.deviation === 0 ? 1 : convert(roughNormal(random) * deviation);
    }
  }
  return Buffer.from(data.buffer);
}
