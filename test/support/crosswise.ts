import { createHash } from 'node:crypto';
import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { homeOf, put } from './agents-world.ts';
import type { ScriptedCall } from './model-script.ts';
import { waitFor } from './wait.ts';
import { chatOf, type World } from './world.ts';

/** The three assistants, each with the direct chat of an owner of its own. */
export const PEOPLE = { main: 42, kim: 43, lou: 44 } as const;
export type Name = keyof typeof PEOPLE;
export const NAMES: readonly Name[] = ['main', 'kim', 'lou'];

/** Words that attempts may name. */
const marker = (name: Name, place: string): string => `canary-${name}-${place}`;

/** What only this assistant may ever show; no attempt names it. */
export const canary = (name: Name, place: string): string =>
  `${marker(name, place)}-${createHash('sha256').update(`${name} ${place}`).digest('hex').slice(0, 8)}`;

/** Every canary of an assistant in a text. */
export const canariesIn = (text: string, name: Name): readonly string[] =>
  text.match(new RegExp(`canary-${name}-[a-z]+-[0-9a-f]{8}`, 'gu')) ?? [];

/** One try of an assistant to read what belongs to the assistant `of`, which may be itself. */
export interface Attempt {
  readonly is: string;
  /** Calls of tools by its model, or what its owner writes. */
  readonly by: { readonly calls: readonly ScriptedCall[] } | { readonly text: string; readonly replyTo?: number };
  /** It finds something where an assistant tries it on itself: so it fails elsewhere for the right reason. @default false */
  readonly worksAtHome?: true;
  /** It would change what is looked for, so an assistant does not try it on itself. @default false */
  readonly onlyAcross?: true;
}

/** What attempts need to know of the assistant that they are about. */
export interface Target {
  readonly name: Name;
  readonly home: string;
  readonly workspace: string;
  /** Of things that it made: file names in its folders. */
  readonly tape: string;
  readonly spilled: string;
  readonly attached: string;
  readonly turn: string;
  readonly messageId: number;
  readonly gateway: string;
}

export const homeOfName = (world: Pick<World, 'home'>, name: Name): string =>
  name === 'main' ? world.home : homeOf(world, name);

/** Puts a canary into everything of a home that is there before the first start. */
export async function furnish(home: string, name: Name): Promise<void> {
  await put(home, 'workspace/SOUL.md', `You are ${name}. ${canary(name, 'soul')}\n`);
  await put(home, 'workspace/secret.txt', `${canary(name, 'file')}\n`);
  await put(home, 'workspace/notes/deep/secret.txt', `${canary(name, 'deep')}\n`);
  await put(home, 'workspace/memory/MEMORY.md', `# Memory\n\n- ${canary(name, 'memory')}\n`);
  await put(home, 'workspace/memory/HISTORY.md', `[2026-11-01] ${canary(name, 'history')}\n`);
  const skill = `---\nname: own-${name}\ndescription: The skill of ${name}.\n---\n${canary(name, 'skill')}\n`;
  await put(home, `workspace/skills/own-${name}/SKILL.md`, skill);
}

const call = (name: string, args: Readonly<Record<string, unknown>>): Attempt['by'] => ({
  calls: [{ name, arguments: args }],
});

/** All attempts on one assistant, from the workspace of another (or of itself). */
export function attemptsOn(target: Target, from: { readonly workspace: string }): readonly Attempt[] {
  const { home, workspace, name, tape, spilled, attached, turn, messageId, gateway } = target;
  const up = '../'.repeat(from.workspace.split('/').length - 1);
  const inWorkspace = (path: string): string => join(workspace, path);
  const open = ['secret.txt', 'notes/deep/secret.txt', 'SOUL.md', 'memory/MEMORY.md', 'memory/HISTORY.md'];
  const state = ['config.json', 'state.db', 'search.db', 'audit.jsonl', `sessions/${tape}`, 'logs/assistant.log'];
  const reads = (path: string): Attempt['by'] => call('read_file', { path });
  const chat = `telegram:${PEOPLE[name]}`;
  return [
    ...open.map((path): Attempt => ({ is: `read_file ${path}`, by: reads(inWorkspace(path)), worksAtHome: true })),
    ...open.map((path): Attempt => ({
      is: `read_file ../${path}`,
      by: reads(up.slice(0, -1) + inWorkspace(path)),
      worksAtHome: true,
    })),
    { is: 'read_file with the skill', by: reads(inWorkspace(`skills/own-${name}/SKILL.md`)), worksAtHome: true },
    ...state.map((path): Attempt => ({ is: `read_file of the state: ${path}`, by: reads(join(home, path)) })),
    { is: 'read_file spill', by: reads(join(home, spilled)), worksAtHome: true },
    { is: 'read_file media', by: reads(join(home, attached)), worksAtHome: true },
    { is: 'read_file through a link to a file', by: reads(`links/${name}-file`), worksAtHome: true },
    { is: 'read_file through a link to the folder', by: reads(`links/${name}-folder/secret.txt`), worksAtHome: true },
    { is: 'list_dir', by: call('list_dir', { path: inWorkspace('skills') }), worksAtHome: true },
    { is: 'list_dir of the home', by: call('list_dir', { path: home }) },
    { is: 'glob', by: call('glob', { pattern: '**/*own-*', path: workspace }) },
    { is: 'grep', by: call('grep', { pattern: 'canary-', path: workspace }), worksAtHome: true },
    { is: 'grep from above', by: call('grep', { pattern: 'canary-', path: join(home, '..') }) },
    {
      is: 'grep through a link',
      by: call('grep', { pattern: 'canary-', path: `links/${name}-folder` }),
      worksAtHome: true,
    },
    { is: 'exec cat', by: call('exec', { command: `cat ${inWorkspace('secret.txt')}` }), worksAtHome: true },
    {
      is: 'exec cat, relative',
      by: call('exec', { command: `cat ${up}${inWorkspace('secret.txt').slice(1)}` }),
      worksAtHome: true,
    },
    { is: 'exec cat of the tape', by: call('exec', { command: `cat ${join(home, 'sessions', tape)}` }) },
    {
      is: 'exec grep everywhere',
      by: call('exec', {
        command: `grep -rs canary-${name}- ${join(home, '..')} --include=*.md --include=*.txt --include=*.jsonl | head -c 2000`,
      }),
      worksAtHome: true,
    },
    {
      is: 'exec ln and cat',
      by: call('exec', { command: `ln -sfn ${workspace} stolen-${name}; cat stolen-${name}/secret.txt` }),
      worksAtHome: true,
    },
    {
      is: 'exec the control socket',
      by: call('exec', { command: `ls ${join(home, 'control.sock')} && echo canary-${name}-socket` }),
    },
    {
      is: 'exec through /proc',
      by: call('exec', {
        command: `cat /proc/1/root${inWorkspace('secret.txt')} /proc/$PPID/root${inWorkspace('secret.txt')}`,
      }),
      worksAtHome: true,
    },
    { is: 'write_file', by: call('write_file', { path: inWorkspace('secret.txt'), content: 'x' }), onlyAcross: true },
    { is: 'memory_search', by: call('memory_search', { query: marker(name, 'memory') }), worksAtHome: true },
    {
      is: 'memory_search of what was said',
      by: call('memory_search', { query: `"${marker(name, 'said')}"` }),
      worksAtHome: true,
    },
    { is: 'tape', by: call('tape', { action: 'search', text: `canary-${name}` }), worksAtHome: true },
    { is: 'skill', by: call('skill', { name: `own-${name}` }), worksAtHome: true },
    { is: 'skill *', by: call('skill', { name: '*' }), worksAtHome: true },
    { is: 'cron list', by: call('cron', { action: 'list' }), worksAtHome: true },
    { is: 'cron show', by: call('cron', { action: 'show', job: `canary-${name}-job` }) },
    { is: 'message with their file', by: call('message', { text: 'look', media: [inWorkspace('secret.txt')] }) },
    { is: 'message with their attachment', by: call('message', { text: 'look', media: [join(home, attached)] }) },
    {
      is: 'spawn',
      by: call('spawn', { task: `read:${inWorkspace('secret.txt')}`, label: 'look', wait: true }),
      worksAtHome: true,
    },
    {
      is: 'batch',
      by: call('batch', { calls: [{ tool: 'read_file', arguments: { path: inWorkspace('secret.txt') } }] }),
      worksAtHome: true,
    },
    { is: 'an MCP tool', by: call(`mcp_${name}_secrets`, {}) },
    { is: 'web_fetch of a file', by: call('web_fetch', { url: `file://${inWorkspace('secret.txt')}` }) },
    { is: 'web_fetch of the page', by: call('web_fetch', { url: `${gateway}/api/sessions` }) },
    { is: '/why of their turn', by: { text: `/why ${turn}` } },
    { is: '/why as a reply to their message', by: { text: '/why', replyTo: messageId } },
    { is: '/undo of their turn', by: { text: `/undo ${turn}` }, onlyAcross: true },
    { is: '/retry of their words', by: { text: `/retry ${marker(name, 'said')}` }, onlyAcross: true },
    { is: '/cron show', by: { text: `/cron show canary-${name}-job` } },
    { is: '/memory log', by: { text: '/memory log' } },
    { is: '/soul', by: { text: '/soul' }, worksAtHome: true },
    { is: '/skills', by: { text: '/skills' } },
    { is: ',read_file', by: { text: `,read_file path=${inWorkspace('secret.txt')}` }, worksAtHome: true },
    { is: ',exec', by: { text: `,exec command="cat ${inWorkspace('secret.txt')}"` }, worksAtHome: true },
    { is: ',memory_search', by: { text: `,memory_search query=${marker(name, 'memory')}` }, worksAtHome: true },
    { is: ',message to their chat', by: { text: `,message text=canary-cross-${name} chat=${chat}` }, onlyAcross: true },
  ];
}

/** Links to what belongs to the target, as a program of the attacker could have made them. */
export async function putLinks(workspace: string, { name, workspace: theirs }: Target): Promise<void> {
  const folder = join(workspace, 'links');
  await mkdir(folder, { recursive: true });
  await symlink(join(theirs, 'secret.txt'), join(folder, `${name}-file`));
  await symlink(theirs, join(folder, `${name}-folder`));
}

/** Says something to an assistant and waits for the answer, a text with `ends` where that is given; resolves with what was answered. */
export async function ask(
  world: World,
  name: Name,
  text: string,
  { extra = {}, ends = '' }: { readonly extra?: Readonly<Record<string, unknown>>; readonly ends?: string } = {},
): Promise<string> {
  const chatId = PEOPLE[name];
  const before = chatOf(world, chatId).length;
  const answered = (): readonly string[] => chatOf(world, chatId).slice(before);
  world.telegram.userSays(chatId, text, extra);
  const isDone = (): boolean => answered().some((one) => one.includes(ends));
  await waitFor(isDone, { what: `an answer of ${name} to ${text}`, timeoutMs: 60_000 });
  return answered().join('\n');
}

/** The only file below a folder of a home, relative to the home. */
export async function onlyFileIn(home: string, folder: string, ends = ''): Promise<string> {
  const entries = await readdir(join(home, folder), { recursive: true, withFileTypes: true });
  const found = entries.find((entry) => entry.isFile() && entry.name.endsWith(ends));
  if (found === undefined) throw new Error(`${folder} of ${home} has no file`);
  return join(found.parentPath, found.name).slice(home.length + 1);
}
