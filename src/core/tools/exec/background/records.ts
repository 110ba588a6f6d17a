import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { ensureDirectory, namesIn, readIfExists, replaceDurable } from '../../../storage/files.ts';
import type { BackgroundProcess } from './process.ts';

const recordSchema = z.object({
  v: z.literal(1),
  id: z.string(),
  command: z.string(),
  /** Absolute path of what it wrote. */
  output: z.string(),
  /** Milliseconds since 1970. */
  startedAt: z.number(),
  untrusted: z.boolean(),
  /** Who is told of its end, and where. */
  addressee: z.object({
    channel: z.string(),
    account: z.string(),
    chatId: z.string(),
    threadId: z.string().optional(),
    chatType: z.enum(['direct', 'group']),
    sender: z.object({
      id: z.string(),
      name: z.string().optional(),
      username: z.string().optional(),
      isBot: z.boolean(),
    }),
    role: z.enum(['owner', 'trusted', 'guest']),
    sessionKey: z.string(),
  }),
});

/** What outlives the assistant's own process about a command in the background. */
export type ProcessRecord = z.infer<typeof recordSchema>;
export type Addressee = ProcessRecord['addressee'];

const ENDING = '.json';

/** A file for each command whose end no one was told of. */
export class ProcessRecords {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Durable when it resolves; one with the same id is replaced. */
  async put(record: ProcessRecord): Promise<void> {
    await ensureDirectory(this.#folder);
    await replaceDurable(this.#path(record.id), `${JSON.stringify(record)}\n`);
  }

  async remove(id: string): Promise<void> {
    await rm(this.#path(id), { force: true });
  }

  /** The records that an earlier process left; unreadable ones are removed. */
  async all(): Promise<readonly ProcessRecord[]> {
    const names = await namesIn(this.#folder);
    const found = await Promise.all(names.map((name) => this.#read(name)));
    return found.flatMap((record) => record ?? []);
  }

  async #read(name: string): Promise<ProcessRecord | undefined> {
    const path = join(this.#folder, name);
    const record = parse((await readIfExists(path)) ?? '');
    if (record === undefined || `${record.id}${ENDING}` !== name) {
      await rm(path, { force: true });
      return undefined;
    }
    return record;
  }

  #path(id: string): string {
    return join(this.#folder, `${id}${ENDING}`);
  }
}

function parse(text: string): ProcessRecord | undefined {
  try {
    return recordSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Wakes a session when a command has ended. */
export function endedText({ id, command, output }: ProcessRecord, process: BackgroundProcess): string {
  const { durationMs, bytes, endNotes } = process;
  return [
    `The command that you started in the background as ${id} has ended, after ${Math.round(durationMs / 1000)} s: ${quoted(command)}`,
    endNotes.join(' '),
    bytes === 0
      ? 'It wrote nothing.'
      : `It wrote ${bytes} bytes; the tool process with the action poll shows them, and so does read_file with the path ${output}.`,
    'Tell the person what came of it, or go on with what waited for it.',
  ].join('\n');
}

/** Wakes a session when a command ended with the assistant's process. */
export function lostText({ id, command, output }: ProcessRecord): string {
  return [
    `The command that you started in the background as ${id} is gone: the process of the assistant stopped while it ran, and it was ended with it: ${quoted(command)}`,
    `Whether it had done its work is not known. What it wrote until then is in ${output} (read_file).`,
    'Tell the person, or start it again if that is safe and still wanted.',
  ].join('\n');
}

function quoted(command: string): string {
  return `\`${command.replaceAll('`', "'")}\``;
}
