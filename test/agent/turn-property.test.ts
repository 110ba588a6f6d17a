import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextStep } from '../../src/core/agent/turn/steps.ts';
import { sessionKeyOf } from '../../src/core/bus/messages.ts';
import { toAnthropicRequest } from '../../src/extensions/anthropic/messages-request.ts';
import { toOpenAiRequest } from '../../src/extensions/openai/chat-request.ts';
import { OFFICIAL } from '../../src/extensions/openai/chat.ts';
import type { ModelMessage, ModelRequest } from '../../src/core/providers/provider.ts';
import { Sessions } from '../../src/core/session/sessions.ts';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { problemsOf } from '../session/legality.ts';
import { countingIds, testClock } from '../session/tapes.ts';
import type { Step } from '../support/model-script.ts';
import { tempFolder } from '../support/temp.ts';
import { validateAnthropicRequest } from '../support/validate-anthropic.ts';
import { validateOpenAiRequest } from '../support/validate-openai.ts';
import { startWorld, type DialectName, type World } from '../support/world.ts';

/**
 * A real assistant plays random turns: answers, calls whole and broken, empty and cut-off answers, failures, with
 * people who stop it and add to it. Then its tape is cut at any byte, as a crash may leave it.
 */

const CUT_OFF = {
  openai: 'length',
  anthropic: 'max_tokens',
  'openai-responses': 'max_output_tokens',
  ollama: 'length',
} as const;

const args = fc.constantFrom(
  '{}',
  '{"path":"."}',
  '{"path":"a.txt","content":"x"}',
  '{"path"',
  '',
  '[]',
  '"x"',
  '\u0000',
);
const oneCall = fc.record({
  name: fc.constantFrom('list_dir', 'write_file', 'read_file', 'no_such_tool', 'Bash', 'bad name!'),
  arguments: args,
  id: fc.constantFrom('', 'same', 'call_1', 'an id with spaces', 'é'),
});
const words = fc.constantFrom('', ' ', 'hello', '<think>hm</think>', '<think>hm', 'a `<think>` b', 'é😀', '\n\n');
const answer = fc.record({ text: words, calls: fc.array(oneCall, { maxLength: 3 }), cut: fc.boolean() });
const modelStep = fc.oneof({ weight: 6, arbitrary: answer }, { weight: 1, arbitrary: fc.constant('fails' as const) });
const script = fc.array(
  fc.record({
    steps: fc.array(modelStep, { maxLength: 5 }),
    /** At which request the person stops it, or adds something; most often never. */
    stopAt: fc.option(fc.nat(3), { freq: 3 }),
    steerAt: fc.option(fc.nat(3), { freq: 2 }),
  }),
  { minLength: 1, maxLength: 3 },
);
type Script = typeof script extends fc.Arbitrary<infer T> ? T : never;
type ModelStep = typeof modelStep extends fc.Arbitrary<infer T> ? T : never;

function toStep(step: ModelStep, dialect: DialectName): Step {
  if (step === 'fails') return { error: { status: 402, message: 'no' } };
  const { text, calls, cut } = step;
  return { text, calls, ...(cut ? { finishReason: CUT_OFF[dialect] } : {}) };
}

async function play(
  world: World,
  { session, turns, dialect }: { session: string; turns: Script; dialect: DialectName },
) {
  for (const turn of turns) {
    const steps = turn.steps.map((step) => toStep(step, dialect));
    const stop = new AbortController();
    const steered: Promise<unknown>[] = [];
    let requests = 0;
    world.model.setHandler(() => {
      if (requests === turn.steerAt) steered.push(world.assistant.run('and this', { session }));
      if (requests === turn.stopAt) stop.abort();
      requests += 1;
      return steps.shift() ?? 'done.';
    });
    await world.assistant.run('go', { session, signal: stop.signal });
    await Promise.all(steered);
  }
}

const tools = ['list_dir', 'read_file'].map((name) => ({
  name,
  description: name,
  parameters: { type: 'object', properties: {} },
}));

/** What either API would say against the transcript, sent with one more message. */
function problems(messages: readonly ModelMessage[]): readonly string[] {
  const request: ModelRequest = {
    model: 'scripted-model',
    system: ['Be kind.'],
    messages: [...messages, { role: 'user', content: [{ type: 'text', text: 'next' }] }],
    tools,
    toolChoice: 'auto',
    maxOutputTokens: 100,
  };
  return [
    ...problemsOf(messages),
    ...validateOpenAiRequest(toOpenAiRequest(request, { provider: 'openai', quirks: OFFICIAL })),
    ...validateAnthropicRequest(toAnthropicRequest(request, { provider: 'anthropic', official: true })),
  ];
}

/** Folds the first bytes of a tape, opened as a start after a crash does. */
async function checkCut(bytes: Buffer, session: string): Promise<void> {
  await using folder = await tempFolder();
  await writeFile(join(folder.path, tapeName(session)), bytes);
  const quarantine = join(folder.path, 'quarantine');
  const sessions = new Sessions({
    directory: folder.path,
    quarantine,
    clock: testClock,
    newId: countingIds(),
    log: silentLog,
  });
  const opened = await sessions.open(session);
  expect(problems(opened.history().messages.map(({ message }) => message))).toEqual([]);
  for (const { turn } of opened.window) if (turn !== null) nextStep(opened.turn(turn), { maxIterations: 40 });
  await sessions.close();
}

/** The journal as a crash in the middle of the session's last turn leaves it. */
function reopenLastTurn(home: string, session: string): void {
  using db = new DatabaseSync(join(home, 'state.db'));
  const last = `SELECT id FROM turns WHERE session = ? AND outcome IS NOT 'command' ORDER BY id DESC LIMIT 1`;
  db.prepare(`UPDATE turns SET state = 'running', outcome = NULL WHERE id = (${last})`).run(session);
}

test.each<DialectName>(['openai', 'anthropic'])(
  'any tape that a turn of the %s dialect writes, cut at any byte, is a legal transcript and goes on',
  async (dialect) => {
    await using world = await startWorld({ dialect, config: { agent: { maxIterations: 6 } } });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(
        script,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 8, maxLength: 8 }),
        async (turns, cuts) => {
          runs += 1;
          const session = `s${runs}`;
          const key = sessionKeyOf({ channel: 'terminal', chatId: session });
          await play(world, { session, turns, dialect });
          const path = join(world.home, 'sessions', tapeName(key));
          const bytes = await readFile(path);
          for (const cut of cuts) await checkCut(bytes.subarray(0, Math.floor(cut * bytes.length)), key);

          await world.assistant[Symbol.asyncDispose]();
          await truncate(path, Math.floor((cuts[0] ?? 1) * bytes.length));
          reopenLastTurn(world.home, key);
          world.model.setHandler(() => 'done.');
          await world.restart();
          expect(await world.assistant.run('after the crash', { session })).toMatchObject({ text: 'done.' });
          const ends = (await world.tape(key)).filter((entry) => entry.kind === 'turn-end').map(({ turn }) => turn);
          expect(new Set(ends).size).toBe(ends.length);
          expect(world.model.violations).toEqual([]);
        },
      ),
      { numRuns: 5, seed: 20_260_101 },
    );
  },
  180_000,
);
