import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { HookRunner } from '../../src/core/agent/hooks/hooks.ts';
import { pendingCalls } from '../../src/core/agent/turn/steps.ts';
import { runCalls } from '../../src/core/agent/turn/tool-calls.ts';
import type { App } from '../../src/core/app.ts';
import type { EntryDraft, TapeEntry } from '../../src/core/session/entry.ts';
import { batchTool } from '../../src/core/tools/batch.ts';
import type { KeepWhole, ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import { callTitle } from '../../src/core/tools/registry/result.ts';
import { defineTool, type ApprovalRequest, type Tool } from '../../src/core/tools/tool.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { appWith } from '../support/app-with.ts';
import { makeRegistry, result, tool, TOKEN, type TestTool } from '../support/simple-tools.ts';
import { testToolContext, type TestCall } from '../support/tool-context.ts';

type Inner = { tool: string; arguments?: object };

interface Played {
  readonly output: string;
  readonly entry: EntryDraft & { kind: 'message'; role: 'tool' };
  /** Everything that went onto the tape, in its order. */
  readonly drafts: readonly EntryDraft[];
  readonly interrupted: readonly string[];
  readonly spilled: readonly string[];
}

interface PlayOptions {
  readonly tools?: readonly Tool[];
  readonly context?: Partial<TestCall>;
  /** Entries that are on the tape already. */
  readonly before?: readonly EntryDraft[];
  readonly maxOutput?: number;
  readonly onAppend?: (draft: EntryDraft) => void;
}

function registryWith(tools: readonly Tool[], maxOutput: number, spilled: string[]): ToolRegistry {
  const registry = makeRegistry(tools, { maxOutput });
  const spill: KeepWhole = async ({ id }, output) => {
    spilled.push(`${id}: ${output.length}`);
    return `/spill/${id}`;
  };
  registry.register(batchTool({ registry, maxOutput, spill }));
  return registry;
}

/** What a batch leaves on the tape. */
async function play(calls: readonly Inner[], options: PlayOptions = {}): Promise<Played> {
  const spilled: string[] = [];
  const interrupted: string[] = [];
  const registry = registryWith(options.tools ?? [], options.maxOutput ?? 16_000, spilled);
  const asked: EntryDraft = {
    kind: 'message',
    role: 'assistant',
    turn: 'T',
    provider: 'p',
    model: 'm',
    stopReason: 'tool-calls',
    usage: { input: 1, output: 1, cached: 0, cacheWrite: 0, reasoning: 0 },
    content: [
      { type: 'tool-call', callId: 'T.1', providerCallId: 'p1', name: 'batch', arguments: JSON.stringify({ calls }) },
    ],
  };
  const tape = [asked, ...(options.before ?? [])].map((draft): TapeEntry => ({ ...draft, v: 1, id: '', at: 0 }));
  const drafts: EntryDraft[] = [];
  await runCalls(pendingCalls(tape), {
    app: appWith({
      tools: registry,
      hooks: new HookRunner(silentLog),
      media: { put: async () => 'hash' } as unknown as App['media'],
    }),
    facts: { turnId: 'T', sessionKey: 'terminal:test', messages: [] },
    live: () => {},
    context: (callId) => testToolContext({ callId, ...options.context }),
    append: async (more) => {
      for (const draft of more) options.onAppend?.(draft);
      drafts.push(...more);
    },
    slot: (task) => task(),
    interrupted: async (callId, name) => void interrupted.push(`${callId} ${name}`),
  });
  const entry = drafts.at(-1);
  if (entry?.kind !== 'message' || entry.role !== 'tool') throw new Error('no result');
  return { output: entry.output, entry, drafts, interrupted, spilled };
}

const says = (name: string, text: string, more: TestTool = {}): Tool =>
  tool(name, { execute: async () => result(text), ...more });

const act = (log: string[]): Tool =>
  defineTool({
    name: 'act',
    description: 'Acts.',
    parameters: z.object({ what: z.string().describe('What') }),
    effect: 'effect',
    execute: async ({ what }, { call: { id } }) => {
      log.push(`${id} ${what}`);
      return result(`did ${what}`);
    },
  });

describe('a batch', () => {
  test('answers in the order of its calls, whichever is done first', async () => {
    const slow = Promise.withResolvers<void>();
    const tools = [
      tool('slow', { execute: () => slow.promise.then(() => result('slow')) }),
      tool('fast', {
        execute: async () => {
          slow.resolve();
          return result('fast');
        },
      }),
    ];
    const { output, entry } = await play([{ tool: 'slow' }, { tool: 'fast' }], { tools });
    expect(output).toBe('[batch of 2 · failed=0]\n# 1 of 2\n[ran]\nslow\n\n# 2 of 2\n[ran]\nfast');
    expect(entry.isError).toBe(false);
  });

  test('says of each call that it holds what became of it', async () => {
    const log: string[] = [];
    const { entry } = await play([{ tool: 'act', arguments: { what: 'a' } }, { tool: 'act' }], { tools: [act(log)] });
    expect(entry.effects?.map(({ tool: name, outcome }) => [name, outcome])).toEqual([
      ['act', 'done'],
      ['act', 'failed'],
    ]);
  });

  test('goes on after a call that fails, and is an error only when all do', async () => {
    const tools = [
      tool('breaks', {
        execute: async () => {
          throw new Error('broken');
        },
      }),
      says('works', 'done'),
    ];
    const some = await play([{ tool: 'breaks' }, { tool: 'nothing' }, { tool: 'works' }], { tools });
    expect(some.output).toMatch(/broken.*There is no tool named nothing.*done/su);
    expect(some.output).toContain('failed=2');
    expect(some.entry.isError).toBe(false);
    expect((await play([{ tool: 'breaks' }], { tools })).entry.isError).toBe(true);
  });

  test('writes the intent of each call with effects down before it runs, and none of its own', async () => {
    const log: string[] = [];
    const { drafts } = await play(
      [{ tool: 'act', arguments: { what: 'a' } }, { tool: 'read' }, { tool: 'act', arguments: { what: 'b' } }],
      {
        tools: [act(log), says('read', 'r')],
        onAppend: (draft) =>
          void log.push(draft.kind === 'intent' ? `intent ${draft.callId} ${draft.name}` : draft.kind),
      },
    );
    expect(log).toEqual(['intent T.1.1 act', 'T.1.1 a', 'intent T.1.3 act', 'T.1.3 b', 'message']);
    expect(drafts.filter(({ kind }) => kind === 'intent')).toHaveLength(2);
  });

  test('that a crash cut off runs only what had not begun, and tells of the rest', async () => {
    const log: string[] = [];
    const { output, interrupted } = await play(
      [
        { tool: 'act', arguments: { what: 'a' } },
        { tool: 'act', arguments: { what: 'b' } },
      ],
      {
        tools: [act(log)],
        before: [{ kind: 'intent', turn: 'T', callId: 'T.1.1', name: 'act', class: 'effect' }],
      },
    );
    expect(log).toEqual(['T.1.2 b']);
    expect(interrupted).toEqual(['T.1.1 act']);
    expect(output).toMatch(/interrupted: the process stopped.*did b/su);
  });

  test('holds neither another batch nor a skill, by whatever name', async () => {
    const { output } = await play(
      [{ tool: 'batch', arguments: { calls: [{ tool: 'read' }] } }, { tool: 'skill' }, { tool: 'read' }],
      {
        tools: [says('read', 'r'), says('skill', 'instructions')],
      },
    );
    expect(output).toMatch(/a batch cannot hold another one.*loaded by a call of its own.*\nr$/su);
    expect(output).not.toContain('instructions');
  });

  test('lets nobody do what they may not do alone', async () => {
    const { output } = await play([{ tool: 'secret' }, { tool: 'read' }], {
      tools: [says('secret', 'hidden', { role: 'owner' }), says('read', TOKEN)],
      context: { role: 'trusted' },
    });
    expect(output).toMatch(/secret is for the owner only.*\[redacted\]/su);
    expect(output).not.toContain('hidden');
  });

  test('asks one question at a time, each under its own id, and a no stops nothing else', async () => {
    const asked: string[] = [];
    let open = 0;
    const approve = async ({ detail }: ApprovalRequest): Promise<{ approved: boolean; reason: string }> => {
      open += 1;
      expect(open).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      asked.push(detail);
      return { approved: detail !== 'b', reason: 'no' };
    };
    const ask = (name: string): Tool =>
      says(name, `did ${name}`, {
        plans: () => ({ asks: { title: 'May I', detail: name, reason: 'why' } }),
      });
    const { output } = await play([{ tool: 'a' }, { tool: 'b' }, { tool: 'c' }], {
      tools: [ask('a'), ask('b'), ask('c')],
      context: { approve },
    });
    expect(asked.toSorted()).toEqual(['a', 'b', 'c']);
    expect(output).toMatch(/did a.*Not done: no.*did c/su);
  });

  test('is by strangers or private when one of its results is', async () => {
    const theirs = says('page', 'obey', { untrusted: true });
    const own = tool('file', { execute: async () => result('mine', { private: true }) });
    const both = await play([{ tool: 'page' }, { tool: 'file' }], { tools: [theirs, own] });
    expect(both.entry).toMatchObject({ untrusted: true, private: true });
    expect(both.output).toMatch(/<untrusted [^>]*source="batch"/u);
    const plain = await play([{ tool: 'read' }], { tools: [says('read', 'r')] });
    expect(plain.entry).not.toHaveProperty('untrusted');
    expect(plain.entry).not.toHaveProperty('private');
  });

  test('shares the room of one result: short ones are whole, what is cut is kept', async () => {
    const long = 'x'.repeat(15_000);
    const { output, spilled } = await play([{ tool: 'long' }, { tool: 'short' }, { tool: 'long' }, { tool: 'page' }], {
      tools: [
        says('long', long),
        says('short', 'short and whole'),
        tool('page', { execute: async () => result(long, { metadata: { truncated: true } }) }),
      ],
    });
    expect(output.length).toBeLessThanOrEqual(16_100);
    expect(output).toContain('short and whole');
    expect(spilled).toEqual(['T.1.1.part: 15006', 'T.1.3.part: 15006']);
    expect(output).toContain('/spill/T.1.1.part');
    expect(output).toContain('truncated=true');
  });

  test('takes one to ten calls', async () => {
    const tools = [says('read', 'r')];
    expect((await play([], { tools })).entry.isError).toBe(true);
    expect(
      (
        await play(
          Array.from({ length: 11 }, () => ({ tool: 'read' })),
          { tools },
        )
      ).entry.isError,
    ).toBe(true);
    const ten = await play(
      Array.from({ length: 10 }, () => ({ tool: 'read' })),
      { tools },
    );
    expect(ten.output).toContain('# 10 of 10');
  });

  test('is cut off with the turn, and starts nothing more', async () => {
    const stop = new AbortController();
    const log: string[] = [];
    const waits = tool('waits', {
      effect: 'effect',
      execute: (_params, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('ended')));
          stop.abort(new Error('stopped'));
        }),
    });
    const { output } = await play([{ tool: 'waits' }, { tool: 'act', arguments: { what: 'a' } }], {
      tools: [waits, act(log)],
      context: { signal: stop.signal },
    });
    expect(output).toContain('Cut off: the turn was stopped');
    expect(log).toEqual([]);
  });

  test('outside a turn runs nothing', async () => {
    const registry = registryWith([says('read', 'r')], 16_000, []);
    const call = { name: 'batch', arguments: JSON.stringify({ calls: [{ tool: 'read', arguments: {} }] }) };
    expect(await registry.run(call, testToolContext())).toMatchObject({
      isError: true,
      output: expect.stringContaining('only in a turn'),
    });
  });

  test('is named by what is in it', () => {
    const args = JSON.stringify({ calls: [{ tool: 'exec', arguments: { command: 'ls' } }, { tool: 'glob' }] });
    expect(callTitle({ name: 'batch', arguments: args })).toBe('batch exec, glob');
  });
});
