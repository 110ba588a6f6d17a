import type { Media } from '../bus/messages.ts';

interface AlbumRules {
  /** Most files of one message. */
  readonly most: number;
  /** Bytes of all files of one message. @default no limit */
  readonly mostBytes?: number;
  /** Only files of the same kind go together; null: this file goes alone. @default all go together */
  readonly kindOf?: (file: Media) => string | null;
}

/** Groups files that follow each other into messages, in their order. */
export function albumsOf(
  files: readonly Media[],
  { most, mostBytes = Infinity, kindOf = () => 'any' }: AlbumRules,
): readonly (readonly Media[])[] {
  const groups: Media[][] = [];
  let [kind, bytes]: [string | null, number] = [null, 0];
  for (const file of files) {
    const { size = 0 } = file;
    const own = kindOf(file);
    const last = groups.at(-1);
    const fits = last !== undefined && own !== null && own === kind && last.length < most && bytes + size <= mostBytes;
    if (fits) last.push(file);
    else groups.push([file]);
    bytes = fits ? bytes + size : size;
    kind = own;
  }
  return groups;
}
