/** Whether a path below the folder of a `.gitignore` is ignored; undefined when the file says nothing of it. */
export type IgnoreRules = (path: string, isFolder: boolean) => boolean | undefined;

/** Makes rules of the text of a `.gitignore`. */
export type ReadIgnoreRules = (text: string) => IgnoreRules;

interface Layer {
  readonly rules: IgnoreRules;
  /** The path from the file's folder to the base of the walk, with a slash at its end; empty when it lies below the base. */
  readonly lead: string;
  /** Characters that the paths of the walk have before their part below the file's folder. */
  readonly skip: number;
}

/** What the `.gitignore` files of a folder and of those above it say together: the nearest one that names a path decides. */
export class Ignored {
  readonly #read: ReadIgnoreRules | undefined;
  /** The nearest file first. */
  readonly #layers: readonly Layer[];

  constructor(read: ReadIgnoreRules | undefined, layers: readonly Layer[] = []) {
    this.#read = read;
    this.#layers = layers;
  }

  /** Adds the file of a folder of the walk; `below`: the folder's path below the base. */
  with(text: string, below: string): Ignored {
    return this.#and(text, { lead: '', skip: below === '' ? 0 : below.length + 1 });
  }

  /** Adds the file of a folder above the base; `down`: the path from that folder to the base. */
  withAbove(text: string, down: string): Ignored {
    return this.#and(text, { lead: `${down}/`, skip: 0 });
  }

  /** `here`: a path below the base of the walk. */
  has(here: string, isFolder: boolean): boolean {
    return this.#decide(isFolder, ({ lead, skip }) => lead + here.slice(skip));
  }

  /** Whether the base, or a folder above it, is ignored; `rest`: what follows the folder in the path of the base. */
  hasFolderAbove(rest: string): boolean {
    return this.#decide(true, ({ lead }) => lead.slice(0, Math.max(0, lead.length - 1 - rest.length)));
  }

  #decide(isFolder: boolean, pathFor: (layer: Layer) => string): boolean {
    for (const layer of this.#layers) {
      const path = pathFor(layer);
      const verdict = path === '' ? undefined : layer.rules(path, isFolder);
      if (verdict !== undefined) return verdict;
    }
    return false;
  }

  #and(text: string, place: Omit<Layer, 'rules'>): Ignored {
    if (this.#read === undefined) return this;
    return new Ignored(this.#read, [{ rules: this.#read(text), ...place }, ...this.#layers]);
  }
}
