import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { entrySchema } from '../../session/entry.ts';
import { AppError, errorMessage } from '../../util/errors.ts';

const provider = z.object({
  kind: z.string().optional(),
  baseUrl: z.string().optional(),
  wire: z.enum(['chat', 'responses']).optional(),
  extraBody: z.record(z.string(), z.unknown()).optional(),
});

/** The lines of a trace file: the head, then all that the model requests of one turn were made of, and the requests themselves. */
const lineSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('trace'),
    v: z.literal(1),
    /** Version of the program that saved it. */
    version: z.string(),
    turn: z.string(),
    session: z.string(),
    /** Milliseconds since 1970. */
    startedAt: z.number(),
    /** What of the settings shapes a request; keys and headers are left out. */
    providers: z.record(z.string(), provider),
    /** What could not be saved, one sentence each. */
    missing: z.array(z.string()),
  }),
  /** A layer of the system prompt or a list of tools, under the hash that it had before secrets were taken out. */
  z.object({ kind: z.literal('part'), hash: z.string(), text: z.string() }),
  z.object({ kind: z.literal('image'), hash: z.string(), data: z.base64() }),
  /** An entry of the tape: the history before the turn, then the turn. */
  z.object({ kind: z.literal('entry'), entry: entrySchema }),
  /** The body of a model request; `note`: id of the entry that records the call, `attempt`: from 0. */
  z.object({ kind: z.literal('request'), note: z.string(), attempt: z.number(), body: z.string() }),
]);

export type TraceLine = z.infer<typeof lineSchema>;
export type TraceHead = Extract<TraceLine, { kind: 'trace' }>;
export type TraceProviders = TraceHead['providers'];
export type LineOf<Kind extends TraceLine['kind']> = Extract<TraceLine, { kind: Kind }>;

export interface TraceFile {
  readonly head: TraceHead;
  readonly lines: readonly TraceLine[];
}

/** The text of a trace file, one JSON object on each line. */
export function formatTrace({ head, lines }: TraceFile): string {
  return [head, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Reads a trace file. Throws an error of one sentence when that can't be read, or that names the first line which is not of a trace. */
export async function readTrace(file: string): Promise<TraceFile> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new AppError('trace-unreadable', `The trace ${file} cannot be read: ${errorMessage(error)}`);
  });
  const lines = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(lineOf);
  const [head, ...rest] = lines;
  if (head?.kind === 'trace') return { head, lines: rest };
  throw new AppError('trace-invalid', 'This is not a trace: its first line has to be of the kind "trace".');
}

function lineOf(line: string, index: number): TraceLine {
  const parsed = lineSchema.safeParse(jsonOf(line));
  if (parsed.success) return parsed.data;
  throw new AppError(
    'trace-invalid',
    `Line ${index + 1} is not of a trace, or another version of the program wrote it. Save the turn again.`,
  );
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
