import { mkdir, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { undoCommand } from '../../src/core/agent/commands/undo.ts';
import { Undo } from '../../src/core/agent/undo/undo.ts';
import type { App } from '../../src/core/app.ts';
import type { EntryDraft } from '../../src/core/session/entry.ts';
import { plainDisk } from '../../src/core/storage/disk.ts';
import { UndoLog } from '../../src/core/storage/undo-log.ts';
import type { ApprovalAnswer } from '../../src/core/tools/tool.ts';
import { anchor, plainTurn, reset, retract, trim, turnEnd, turnStart, user } from '../session/tapes.ts';
import { appWith } from '../support/app-with.ts';
import { openMarks } from '../support/marks.ts';
import { commandContext } from '../support/command-context.ts';
import { historyText, SESSION, sessionsWorld, type SessionsWorld } from './sessions-world.ts';

const EFFECTS = { exec: 'effect', message: 'effect', memory_write: 'idempotent', read_file: 'none' } as const;

const undoneIn = ({ files }: SessionsWorld): UndoLog =>
  new UndoLog({ folder: join(files.home, 'versions', 'undo', 'done'), disk: plainDisk });

function appOf(world: SessionsWorld): Partial<App> {
  const { guard, changes, registry, workspace, clock } = world.files;
  return {
    sessions: world.sessions,
    journal: { subagents: { ofTurn: () => [] } } as unknown as App['journal'],
    memory: { path: join(workspace, 'memory', 'MEMORY.md') } as App['memory'],
    editors: { folderOf: () => undefined } as unknown as App['editors'],
    search: { scheduleSync: () => {} } as App['search'],
    plugins: { each: () => [] } as unknown as App['plugins'],
    paths: { workspace } as App['paths'],
    tools: {
      named: (name: string) => {
        const effect = Object.entries(EFFECTS).find(([known]) => known === name)?.[1];
        return registry.named(name) ?? (effect === undefined ? undefined : { name, effect });
      },
    } as App['tools'],
    undone: undoneIn(world),
    marks: openMarks({ workspace }),
    landing: { ofTurn: () => [] } as unknown as App['landing'],
    changes,
    guard,
    clock,
  };
}

interface Asked {
  readonly args?: string;
  readonly sessionKey?: string;
  readonly turnId?: string;
  /** What the owner says to the question. */
  readonly says?: ApprovalAnswer;
  /** Takes the question. */
  readonly asked?: string[];
}

let commands = 0;

/** As the owner says it; without `turnId` as another message each time. */
async function undo(world: SessionsWorld, parts: Partial<App> = {}, how: Asked = {}): Promise<string> {
  commands += 1;
  const { args = '', sessionKey = SESSION, turnId = `command-${commands}`, says = { approved: true }, asked } = how;
  const approve: App['questions']['approve'] = async (_call, { title, detail }) => {
    asked?.push(`${title}?\n${detail}`);
    return says;
  };
  const questions = { approve } as App['questions'];
  const command = undoCommand(appWith({ undo: new Undo(appWith({ ...appOf(world), ...parts })), questions }));
  const reply = await command.run({ ...commandContext({ sessionKey, args }), turnId });
  if (typeof reply !== 'string') throw new Error('/undo replies');
  return reply;
}

type Call = readonly [name: string, args: Readonly<Record<string, unknown>>];

/** A whole turn whose calls are on the tape; those of file tools are run for real. */
async function turnWith(world: SessionsWorld, turn: string, said: string, calls: readonly Call[]): Promise<void> {
  const drafts: EntryDraft[] = [turnStart(turn), user(turn, said)];
  for (const [n, [name, args]] of calls.entries()) {
    const callId = `${turn}.${n}`;
    drafts.push(
      {
        kind: 'message',
        role: 'assistant',
        turn,
        provider: 'demo',
        model: 'scripted',
        stopReason: 'tool-calls',
        content: [{ type: 'tool-call', callId, providerCallId: '', name, arguments: JSON.stringify(args) }],
        usage: null,
      },
      ...(name in EFFECTS && name !== 'exec' && name !== 'message'
        ? []
        : [{ kind: 'intent' as const, turn, callId, name, class: 'effect' }]),
    );
    let isError = false;
    if (!(name in EFFECTS)) {
      const result = await world.files.call(name, args, { sessionKey: SESSION, turnId: turn, callId });
      isError = result.isError === true;
    }
    drafts.push({ kind: 'message', role: 'tool', turn, callId, name, output: 'done', isError });
  }
  await world.append(...drafts, turnEnd(turn, 'Done.'));
}

const write = (path: string, content: string): Call => ['write_file', { path, content }];

describe('/undo', () => {
  test('takes the last exchange out of the conversation and puts its files back', async () => {
    await using world = await sessionsWorld();
    const path = await world.files.put('list.md', 'milk\r\n');
    await world.append(...plainTurn('t1', 'hello', 'hi'));
    await turnWith(world, 't2', 'empty my *list*', [write('list.md', ''), write('log.md', 'emptied')]);
    expect(await undo(world)).toBe(
      [
        'Undone: “empty my *list*” and my answer are no longer part of this conversation.',
        'Files:',
        '- `list.md`: restored',
        '- `log.md`: removed, because it was new',
      ].join('\n'),
    );
    expect(await readFile(path, 'utf8')).toBe('milk\r\n');
    expect(await readdir(world.files.workspace)).toEqual(['list.md']);
    expect(historyText(world.session)).toContain('hello');
    expect(historyText(world.session)).not.toMatch(/empty my|Done\./u);
  });

  test('again takes the exchange before, also after a restart, until nothing is left', async () => {
    await using world = await sessionsWorld();
    const path = await world.files.put('a.txt', '0');
    await turnWith(world, 't1', 'one', [write('a.txt', '1')]);
    await turnWith(world, 't2', 'two', [write('a.txt', '2')]);
    expect(await undo(world)).toContain('“two”');
    expect(await readFile(path, 'utf8')).toBe('1');
    expect(await undo(world)).toContain('“one”');
    expect(await readFile(path, 'utf8')).toBe('0');
    expect(world.session.history().messages).toEqual([]);
    expect(await undo(world)).toBe('There is nothing to undo here.');
  });

  test('says what it left and what it cannot undo', async () => {
    await using world = await sessionsWorld();
    await turnWith(world, 't1', 'go', [
      write('a.txt', 'mine'),
      ['edit_file', { path: 'a.txt', oldText: 'nowhere', newText: 'x' }],
      ['exec', { command: 'rm -rf `pwd`/build' }],
      ['read_file', { path: 'a.txt' }],
      ['memory_write', { fact: 'likes tea' }],
      ['message', { text: 'hello' }],
    ]);
    await writeFile(join(world.files.workspace, 'a.txt'), 'yours');
    expect(await undo(world)).toBe(
      [
        'Undone: “go” and my answer are no longer part of this conversation.',
        'Files:',
        '- `a.txt`: not changed: it changed after I made it',
        'Messages that I sent stay. If one is wrong, ask me to send a correction:',
        '- `message hello`',
        'This cannot be undone:',
        '- `exec rm -rf ´pwd´/build`',
        '- `memory_write likes tea`',
      ].join('\n'),
    );
  });

  test('a call of a file tool by another name is one that can be undone', async () => {
    await using world = await sessionsWorld();
    await turnWith(world, 't1', 'go', [['Write', { path: 'a.txt', content: 'x' }]]);
    expect(await undo(world)).not.toContain('cannot be undone');
    expect(await readdir(world.files.workspace)).toEqual([]);
  });

  test('counts what joined the turn and names only a few of many files', async () => {
    await using world = await sessionsWorld();
    const calls = Array.from({ length: 25 }, (_, n) => write(`f${n}.txt`, 'x'));
    await turnWith(world, 't1', 'make many', calls);
    await world.append(turnStart('t2'), user('t2', 'a'), user('t2', 'b'), user('t2', 'c'), turnEnd('t2'));
    expect(await undo(world)).toContain('“a” (and 2 more messages)');
    expect(await undo(world)).toContain('- and 5 more');
    expect(await readdir(world.files.workspace)).toEqual([]);
  });

  test.each([
    ['a fresh start', [reset()], /since this conversation was started anew/u],
    ['a summary', [anchor('so far', 'end-t2')], /only in the conversation as a summary/u],
    ['what was dropped', [trim({ dropUpTo: 'end-t2' })], /had become too long/u],
  ])('does not reach across %s', async (_name, boundary, sentence) => {
    await using world = await sessionsWorld();
    await world.append(...plainTurn('t1', 'one', '1'), ...plainTurn('t2', 'two', '2'), ...boundary);
    expect(await undo(world)).toMatch(sentence);
    await world.append(...plainTurn('t3', 'three', '3'));
    expect(await undo(world)).toContain('“three”');
    expect(await undo(world)).toMatch(sentence);
  });

  test('a turn that a summary leaves visible can still be taken back', async () => {
    await using world = await sessionsWorld();
    await world.append(...plainTurn('t1', 'one', '1'), ...plainTurn('t2', 'two', '2'), anchor('so far', 'end-t1'));
    expect(await undo(world)).toContain('“two”');
    expect(historyText(world.session)).toContain('so far');
  });

  test('is about what people said: a scheduled turn stays, and so does one that did not end', async () => {
    await using world = await sessionsWorld();
    await world.append(...plainTurn('t1', 'one', '1'));
    await world.append({ ...turnStart('t2'), origin: 'cron' } as EntryDraft, user('t2', 'report'), turnEnd('t2', 'r'));
    await world.append(turnStart('t3'), user('t3', 'torn'));
    expect(await undo(world)).toContain('“one”');
    expect(historyText(world.session)).toMatch(/report.*torn/u);
  });

  test('after a /retry takes back what both tries did', async () => {
    await using world = await sessionsWorld();
    const path = await world.files.put('a.txt', '0');
    await turnWith(world, 't1', 'go', [write('a.txt', '1'), write('b.txt', '1')]);
    await world.append(retract('t1'), { ...turnStart('t2'), sources: ['in-t1'] } as EntryDraft, user('t2', 'go'));
    await world.files.call('write_file', { path, content: '2' }, { turnId: 't2', callId: 't2.0' });
    await world.append(turnEnd('t2', 'ok'));
    expect(await undo(world)).toMatch(/a\.txt`: restored[\s\S]*b\.txt`: removed/u);
    expect(await readFile(path, 'utf8')).toBe('0');
    expect(await readdir(world.files.workspace)).toEqual(['a.txt']);
  });

  test('in another session is another conversation', async () => {
    await using world = await sessionsWorld();
    await world.append(...plainTurn('t1', 'one', '1'));
    expect(await undo(world, {}, { sessionKey: 'terminal:other' })).toContain('nothing to undo');
  });

  test('shows first what it would do, and does nothing without a yes', async () => {
    await using world = await sessionsWorld();
    await world.files.put('a.txt', 'old');
    await turnWith(world, 't1', 'go', [write('a.txt', 'new'), write('b.txt', 'new'), ['message', { text: 'hello' }]]);
    await writeFile(join(world.files.workspace, 'b.txt'), 'yours');
    const asked: string[] = [];
    const says = { approved: false, reason: 'the owner said no' } as const;
    expect(await undo(world, {}, { says, asked })).toBe('Nothing was undone: the owner said no.');
    expect(asked).toEqual([
      [
        'Undo this?',
        '“go” and my answer leave this conversation.',
        'Files:',
        '- a.txt: will be restored',
        '- b.txt: stays: it changed after I made it',
        'Messages that I sent stay. If one is wrong, ask me to send a correction:',
        '- message hello',
      ].join('\n'),
    ]);
    expect(await readFile(join(world.files.workspace, 'a.txt'), 'utf8')).toBe('new');
    expect(historyText(world.session)).toContain('go');
    expect(await undo(world, {}, { args: 'yes', says, asked })).toContain('`a.txt`: restored');
    expect(asked).toHaveLength(1);
  });

  test('does not ask about words alone', async () => {
    await using world = await sessionsWorld();
    await world.append(...plainTurn('t1', 'one', '1'));
    const asked: string[] = [];
    expect(await undo(world, {}, { asked })).toContain('“one”');
    expect(asked).toEqual([]);
  });

  test('with a number takes that many exchanges back at once, each file to before the first of them', async () => {
    await using world = await sessionsWorld();
    const path = await world.files.put('a.txt', '0');
    for (const n of ['1', '2', '3', '4']) await turnWith(world, `t${n}`, `say ${n}`, [write('a.txt', n)]);
    expect(await undo(world, {}, { args: '3' })).toBe(
      [
        'Undone: 3 exchanges are no longer part of this conversation:',
        '- “say 2”',
        '- “say 3”',
        '- “say 4”',
        'Files:',
        '- `a.txt`: restored',
      ].join('\n'),
    );
    expect(await readFile(path, 'utf8')).toBe('1');
    expect(await undo(world, {}, { args: '9 yes' })).toContain('“say 1”');
    expect(await readFile(path, 'utf8')).toBe('0');
  });

  test('keeps what somebody else made of a file between two of its turns', async () => {
    await using world = await sessionsWorld();
    const path = await world.files.put('a.txt', '0');
    await turnWith(world, 't1', 'one', [write('a.txt', '1')]);
    await writeFile(path, 'yours');
    await turnWith(world, 't2', 'two', [write('a.txt', '2')]);
    expect(await undo(world, {}, { args: '2' })).toMatch(/`a\.txt`: partly restored: somebody else changed it/u);
    expect(await readFile(path, 'utf8')).toBe('yours');
  });

  test('names the files that changed while its commands ran', async () => {
    await using world = await sessionsWorld();
    await world.files.put('before.txt', '');
    await utimes(join(world.files.workspace, 'before.txt'), 1, 1);
    await turnWith(world, 't1', 'go', [['exec', { command: 'make' }]]);
    const ran = world.session.turn('t1').find(({ kind }) => kind === 'intent');
    const made = await world.files.put('out/made.txt', '');
    const at = (ran?.at ?? 0) / 1_000;
    await utimes(made, at, at);
    expect(await undo(world)).toMatch(/Changed while commands ran, and left as they are:\n- `out\/made\.txt`\n/u);
  });

  test('takes back what a command landed, the newest first, and names what has changed since', async () => {
    await using world = await sessionsWorld();
    await turnWith(world, 't1', 'go', [
      ['exec', { command: 'one' }],
      ['exec', { command: 'two' }],
      ['exec', { command: 'three' }],
    ]);
    const undone: string[] = [];
    const kept = (id: string, callId: string, paths: readonly string[], state = 'landed'): object => ({
      id,
      callId,
      paths,
      state,
    });
    const landing = {
      ofTurn: () => [
        kept('a', 't1.0', ['a.txt', 'b.txt']),
        kept('b', 't1.1', ['c.txt']),
        kept('c', 't1.2', ['d.txt'], 'not-undoable'),
      ],
      undo: async (id: string) => {
        undone.push(id);
        return id === 'b'
          ? { undone: true, paths: ['c.txt'] }
          : { undone: false, reason: 'its files have changed since', changed: ['b.txt'] };
      },
    } as unknown as App['landing'];
    const asked: string[] = [];
    const text = await undo(world, { landing }, { asked });
    expect(asked.join('')).toContain('- c.txt: will be as it was before the command');
    expect(undone).toEqual(['b', 'a']);
    expect(text).toContain('- `c.txt`: is as it was before the command');
    expect(text).toContain(
      '- `a.txt`: not changed: a command is undone as a whole or not at all, and its files have changed since',
    );
    expect(text).toContain('- `b.txt`: not changed: it has changed since');
    expect(text).toContain('- `d.txt`: not changed: no copy of it was kept');
    expect(text).not.toContain('This cannot be undone');
  });

  test.each(['0', '51', '-1', 'everything', '3 no'])('does not take %j for a number of exchanges', async (args) => {
    await using world = await sessionsWorld();
    await world.append(...plainTurn('t1', 'one', '1'));
    expect(await undo(world, {}, { args })).toMatch(/^Use `\/undo`/u);
    expect(historyText(world.session)).toContain('one');
  });

  test('is for the owner, and waits for a running turn', () => {
    const command = undoCommand({} as App);
    expect(command).toMatchObject({ role: 'owner', priority: false, interrupts: false });
  });
});

describe('cut off in the middle, /undo', () => {
  test('leaves the exchange in the conversation, and begun again it finishes without another question and names all', async () => {
    await using world = await sessionsWorld();
    for (const name of ['a.txt', 'b.txt']) await world.files.put(name, 'old');
    await world.append(...plainTurn('t1', 'one', '1'));
    await turnWith(world, 't2', 'two', [write('a.txt', 'new'), write('b.txt', 'new')]);
    const { changes } = world.files;
    const log = undoneIn(world);
    let isBegun = false;
    const half = {
      undone: {
        all: () => log.all(),
        get: (id: string) => log.get(id),
        put: async (...record: Parameters<UndoLog['put']>) => {
          isBegun = true;
          await log.put(...record);
        },
      } as UndoLog,
      changes: {
        of: async (session: string, turn: string) => (await changes.of(session, turn)).slice(0, isBegun ? 1 : Infinity),
        jobsOf: async () => [],
        copy: (hash: string) => changes.copy(hash),
      } as unknown as App['changes'],
      plugins: {
        each: () => {
          if (isBegun) throw new Error('the process ends here');
          return [];
        },
      } as unknown as App['plugins'],
    };
    await expect(undo(world, half, { turnId: 'cut' })).rejects.toThrow('ends here');
    expect(historyText(world.session)).toContain('two');
    const asked: string[] = [];
    expect(await undo(world, {}, { turnId: 'cut', asked })).toBe(
      [
        'Undone: “two” and my answer are no longer part of this conversation.',
        'Files:',
        '- `a.txt`: restored',
        '- `b.txt`: restored',
      ].join('\n'),
    );
    expect(asked).toEqual([]);
    for (const name of ['a.txt', 'b.txt']) {
      expect(await readFile(join(world.files.workspace, name), 'utf8')).toBe('old');
    }
    expect(await undo(world)).toContain('“one”');
  });

  test('by a full disk before the tape takes it, likewise', async () => {
    await using world = await sessionsWorld();
    await turnWith(world, 't1', 'one', [write('a.txt', 'new')]);
    const full = {
      window: world.session.window,
      backwards: () => world.session.backwards(),
      append: async () => {
        throw new Error('ENOSPC');
      },
    };
    const sessions = { open: async () => full } as unknown as App['sessions'];
    await expect(undo(world, { sessions })).rejects.toThrow('ENOSPC');
    expect(await readdir(world.files.workspace)).toEqual([]);
    expect(await undo(world)).toContain('“one”');
  });

  test('files that cannot be reached are told, and the exchange leaves all the same', async () => {
    await using world = await sessionsWorld();
    await world.files.put('a.txt', 'old');
    await turnWith(world, 't1', 'one', [write('a.txt', 'new')]);
    await rm(join(world.files.workspace, 'a.txt'));
    await mkdir(join(world.files.workspace, 'a.txt'));
    expect(await undo(world)).toMatch(/`a\.txt`: not changed: .*is a directory/u);
    expect(world.session.history().messages).toEqual([]);
  });
});
