import * as z from 'zod';
import type { AssistantInfo } from '../assistant-info.ts';
import { answers } from './operation.ts';

export const system = {
  pageLink: answers<{ readonly link: string }>()({
    description:
      'Makes a link that opens the page and lets in whoever opens it, once and for ten minutes; `http-off` if this assistant serves no page.',
    role: 'owner',
    changes: true,
    params: z.object({}),
  }),
  info: answers<
    AssistantInfo & {
      /** Voice messages are transcribed. */
      readonly transcription: boolean;
      /** The names of all operations that there are now. */
      readonly operations: readonly string[];
    }
  >()({
    description: 'Returns which assistant this is: version, home, model, channels, warnings and where HTTP is served.',
    role: 'owner',
    changes: false,
    params: z.object({}),
  }),
  commands: answers<readonly { /** Without the slash. */ readonly name: string; readonly description: string }[]>()({
    description: 'Lists the slash commands that an owner can write in a chat.',
    role: 'owner',
    changes: false,
    params: z.object({}),
  }),
  configReload: answers<{
    /** What is different now, and when it takes effect: with the next message, at once by starting it anew, at a restart. */
    readonly changes: readonly { readonly path: string; readonly effect: 'live' | 'rebuild' | 'restart' }[];
    /** Why it was not taken up, one sentence; null: it was, or nothing is different. */
    readonly refused: string | null;
    /** The database of the setting `store` may not have the files of the home yet, one sentence; left out: it has. */
    readonly behind?: string;
  }>()({
    description: 'Reads the configuration again and takes up what has changed; a wrong one is refused as a whole.',
    role: 'owner',
    changes: true,
    params: z.object({}),
  }),
};
