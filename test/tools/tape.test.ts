import { describe, expect, test } from 'vitest';
import type { Role } from '../../src/core/bus/messages.ts';
import { tapeTool, type TapeActions, type TapeAnswer } from '../../src/core/tools/tape.ts';
import type { ToolResult } from '../../src/core/tools/tool.ts';
import { makeRegistry } from '../support/simple-tools.ts';
import { testToolContext } from '../support/tool-context.ts';

interface Played {
  readonly asked: { readonly action: string; readonly request: unknown }[];
  readonly run: (args: Readonly<Record<string, unknown>>, role?: Role) => Promise<ToolResult>;
}

/** The tool over actions that all give this answer. */
function play(answer: Partial<TapeAnswer> = {}): Played {
  const asked: { action: string; request: unknown }[] = [];
  const does =
    (action: string) =>
    async (request: unknown): Promise<TapeAnswer> => {
      asked.push({ action, request });
      return { text: 'well', refused: false, untrusted: false, private: false, ...answer };
    };
  const actions: TapeActions = {
    info: does('info'),
    search: does('search'),
    anchors: does('anchors'),
    handoff: does('handoff'),
    reset: does('reset'),
  };
  const registry = makeRegistry([tapeTool(actions)], { policy: { allow: ['*'], deny: [], guest: ['tape'] } });
  return {
    asked,
    run: (args, role = 'owner') =>
      registry.run(
        { name: 'tape', arguments: JSON.stringify(args) },
        testToolContext({ role, taint: { untrusted: true, private: false } }),
      ),
  };
}

describe('the tape tool', () => {
  const during = { turnId: 'turn-1', callId: 'turn-1.1', untrusted: true, private: false };
  const sessionKey = 'terminal:test';

  test.each([
    [{ action: 'info' }, sessionKey],
    [
      { action: 'search', text: 'tea' },
      { sessionKey, query: 'tea', role: 'owner', signal: expect.any(AbortSignal) },
    ],
    [{ action: 'anchors' }, { sessionKey, role: 'owner' }],
    [
      { action: 'handoff', text: 'so far' },
      { sessionKey, summary: 'so far', during },
    ],
    [{ action: 'reset' }, { sessionKey, archive: false, during }],
    [
      { action: 'reset', archive: true },
      { sessionKey, archive: true, during },
    ],
  ])('%j is asked for the session and the turn it runs in', async (args, request) => {
    const { run, asked } = play();
    expect(await run(args)).toMatchObject({ title: `tape ${args.action}`, output: 'well' });
    expect(asked).toEqual([{ action: args.action, request }]);
  });

  test('hands on what is untrusted or private, and a refusal as an error', async () => {
    expect(await play({ untrusted: true, private: true }).run({ action: 'search' })).toMatchObject({
      untrusted: true,
      private: true,
    });
    expect(await play({ refused: true }).run({ action: 'handoff' })).toMatchObject({ isError: true, output: 'well' });
  });

  test.each(['handoff', 'reset'])('%s is not for guests', async (action) => {
    const { run, asked } = play();
    expect(await run({ action, text: 'x' }, 'guest')).toMatchObject({ isError: true });
    expect((await run({ action, text: 'x' }, 'guest')).output).toContain('not for guests');
    expect(asked).toEqual([]);
    expect((await run({ action, text: 'x' }, 'trusted')).isError).toBeUndefined();
  });

  test.each(['info', 'search', 'anchors'])('%s is for guests who may use the tool', async (action) => {
    expect((await play().run({ action, text: 'x' }, 'guest')).isError).toBeUndefined();
  });
});
