import * as z from 'zod';
import { answers } from './operation.ts';

/** An earlier text of a file whose versions are kept. */
export interface FileVersion {
  readonly id: string;
  /** When it was kept, milliseconds since 1970. */
  readonly at: number;
  /** Why it was replaced, or what it was proposed for. */
  readonly reason: string;
  /** Bytes. */
  readonly size: number;
  /** A proposal was refused as the present text, and waits for a person. */
  readonly kind: 'kept' | 'proposed';
}

const id = z.string().describe('Id of a version, as `memoryLog` lists it.');

export const memory = {
  memoryLog: answers<readonly FileVersion[]>()({
    description: 'Lists the earlier versions of MEMORY.md, newest first.',
    role: 'owner',
    changes: false,
    params: z.object({}),
  }),
  memoryShow: answers<{ /** Null: the present text. */ readonly version: FileVersion | null; readonly text: string }>()(
    {
      description:
        'Returns MEMORY.md as it is now, or a version of it; `memory-version` if there is none with this id.',
      role: 'owner',
      changes: false,
      params: z.object({ id: id.exactOptional() }),
    },
  ),
  memoryRestore: answers<FileVersion>()({
    description:
      'Makes a version the present text of MEMORY.md and keeps the present one as a version; `memory-version` if there is none with this id.',
    role: 'owner',
    changes: true,
    params: z.object({ id }),
  }),
};
