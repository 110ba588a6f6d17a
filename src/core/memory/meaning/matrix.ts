/** Vectors are told from noise by how far they stand out of all of them: so many standard deviations. */
const OUTSTANDING = 3;
/** Fewer vectors have no such spread. */
const ENOUGH = 30;
/** Two texts that are less alike have nothing to do with each other, by any model. */
const LEAST_SIMILARITY = 0.2;

/** What a similarity may lose by rounding. */
const ROUNDED = 0.02;

/** A vector with 8 bits for each number. */
export interface SmallVector {
  readonly values: Int8Array;
  /** Each number is its value times this. */
  readonly scale: number;
}

export function smallOf(vector: Float32Array): SmallVector {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  const scale = largest / 127;
  return { values: Int8Array.from(vector, (value) => (scale === 0 ? 0 : Math.round(value / scale))), scale };
}

/**
 * Vectors in memory with 8 bits for each number: a quarter of what they take as floats. It finds which are worth looking at with
 * all their digits.
 */
export class VectorMatrix {
  readonly dimensions: number;
  #ids = new Int32Array(1_024);
  #scales = new Float32Array(1_024);
  #values: Int8Array;
  #count = 0;

  constructor(dimensions: number) {
    this.dimensions = dimensions;
    this.#values = new Int8Array(1_024 * dimensions);
  }

  /** Adds a vector; one of other dimensions is left out. */
  add(id: number, { values, scale }: SmallVector): void {
    if (values.length !== this.dimensions || this.dimensions === 0) return;
    if (this.#count === this.#ids.length) this.#grow();
    this.#values.set(values, this.#count * this.dimensions);
    this.#ids[this.#count] = id;
    this.#scales[this.#count] = scale;
    this.#count += 1;
  }

  /** The nearest to a vector, best first, and the similarity below which a text is noise. */
  nearest(
    vector: Float32Array,
    { most, isAllowed }: { readonly most: number; readonly isAllowed: ((id: number) => boolean) | undefined },
  ): { readonly candidates: readonly number[]; readonly floor: number } {
    const [ids, scales, values] = [this.#ids, this.#scales, this.#values];
    const { dimensions } = this;
    // One that is not allowed is like nothing.
    const similarities = new Float32Array(this.#count).fill(-2);
    let [counted, sum, squares] = [0, 0, 0];
    for (let row = 0; row < similarities.length; row += 1) {
      if (isAllowed !== undefined && !isAllowed(ids[row] ?? 0)) continue;
      const start = row * dimensions;
      let dot = 0;
      for (let at = 0; at < dimensions; at += 1) dot += (vector[at] ?? 0) * (values[start + at] ?? 0);
      const similarity = dot * (scales[row] ?? 0);
      similarities[row] = similarity;
      counted += 1;
      sum += similarity;
      squares += similarity * similarity;
    }
    const mean = sum / Math.max(1, counted);
    const spread = Math.sqrt(Math.max(0, squares / Math.max(1, counted) - mean * mean));
    const floor = Math.max(LEAST_SIMILARITY, counted < ENOUGH ? 0 : mean + OUTSTANDING * spread);
    const rows: number[] = [];
    for (const [row, similarity] of similarities.entries()) if (similarity >= floor - ROUNDED) rows.push(row);
    const candidates = rows
      .toSorted((a, b) => (similarities[b] ?? 0) - (similarities[a] ?? 0))
      .slice(0, most)
      .map((row) => ids[row] ?? 0);
    return { candidates, floor };
  }

  #grow(): void {
    const room = Math.ceil(this.#ids.length * 1.5);
    const [ids, scales, values] = [this.#ids, this.#scales, this.#values];
    this.#ids = new Int32Array(room);
    this.#ids.set(ids);
    this.#scales = new Float32Array(room);
    this.#scales.set(scales);
    this.#values = new Int8Array(room * this.dimensions);
    this.#values.set(values);
  }
}
