import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { SpillStore } from '../../src/core/storage/spill.ts';
import { startAgentsWorld } from './agents-world.ts';
import {
  ask,
  attemptsOn,
  canariesIn,
  canary,
  furnish,
  homeOfName,
  NAMES,
  onlyFileIn,
  PEOPLE,
  putLinks,
  type Attempt,
  type Name,
  type Target,
} from './crosswise.ts';
import type { ModelApiRequest, Step } from './model-script.ts';
import { waitFor } from './wait.ts';
import { chatOf, type World } from './world.ts';

const MODELS: Readonly<Record<string, Name>> = { 'scripted-model': 'main', 'kim-model': 'kim', 'lou-model': 'lou' };

/** `isWide`: the settings open the whole machine, and the folder around all homes by name. */
async function openWorld(isWide: boolean): Promise<World> {
  const ids = Object.values(PEOPLE).map(String);
  const agents = Object.fromEntries(
    (['kim', 'lou'] as const).map((name) => [
      name,
      { routes: [`telegram:${PEOPLE[name]}`], agent: { model: `openai/${name}-model` } },
    ]),
  );
  return await startAgentsWorld({
    agents,
    config: { channels: { telegram: { owners: ids, allowFrom: ids } } },
    furnish: async (home) => {
      for (const name of NAMES) {
        const own = homeOfName({ home }, name);
        await furnish(own, name);
        if (!isWide) continue;
        const file = join(own, 'config.json');
        const before: unknown = existsSync(file) ? JSON.parse(await readFile(file, 'utf8')) : {};
        const tools = { restrictToWorkspace: false, readRoots: [dirname(home)] };
        await writeFile(file, JSON.stringify({ ...Object(before), tools }), { mode: 0o600 });
      }
    },
  });
}

const nameOf = ({ view }: ModelApiRequest): Name => {
  const name = MODELS[view.model];
  if (name === undefined) throw new Error(`no assistant has the model ${view.model}`);
  return name;
};

/** Leaves a canary on the tape, among the jobs, in a long result and in an attachment. */
async function live(world: World, name: Name): Promise<Target> {
  const { telegram } = world;
  const home = homeOfName(world, name);
  await ask(world, name, `remember ${canary(name, 'said')}`);
  expect(await ask(world, name, 'make a job')).toContain(canary(name, 'job'));
  const spilled = await new SpillStore(join(home, 'spill')).put(
    `telegram:${PEOPLE[name]}`,
    'call',
    canary(name, 'spilled'),
  );
  telegram.addFile(`file-${name}`, Buffer.from(`${canary(name, 'attached')}\n`));
  const extra = {
    text: undefined,
    caption: 'a file',
    document: {
      file_id: `file-${name}`,
      file_unique_id: `u-${name}`,
      file_name: 'a.txt',
      mime_type: 'text/plain',
      file_size: 30,
    },
  };
  await ask(world, name, '', { extra });
  using state = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
  const turn = state.prepare('SELECT id FROM turns ORDER BY id LIMIT 1').get()?.['id'];
  const sent = telegram.sentMessages.find(({ chatId }) => chatId === PEOPLE[name]);
  const info = await world.assistant.call('info', {});
  return {
    name,
    home,
    workspace: join(home, 'workspace'),
    tape: tapeName(`telegram:${PEOPLE[name]}`),
    spilled: relative(home, spilled),
    attached: await onlyFileIn(home, 'media'),
    turn: String(turn),
    messageId: sent?.messageId ?? 0,
    gateway: info.http ?? '',
  };
}

/** Plays the models of all three: each makes the calls of the attempt that its assistant is at. */
function play(running: ReadonlyMap<Name, Attempt>): (request: ModelApiRequest) => Step {
  return (request) => {
    const { view } = request;
    const results = view.toolResults.map(({ text }) => text).join(' ');
    if (view.lastUserText.includes('read:/')) {
      const path = /read:(?<path>\/[\w./-]+)/u.exec(view.lastUserText)?.groups?.['path'] ?? '';
      return results === '' ? { calls: [{ name: 'read_file', arguments: { path } }] } : `child: ${results}`;
    }
    if (view.toolResults.length > 0)
      return `result: ${results.slice(0, 3_000)} end of ${view.lastUserText.match(/attempt \d+/u)?.[0] ?? ''}.`;
    if (view.lastUserText.includes('make a job')) {
      const text = canary(nameOf(request), 'job');
      return { calls: [{ name: 'cron', arguments: { action: 'add', when: 'every 24h', text } }] };
    }
    const attempt = view.lastUserText.includes('attempt ') ? running.get(nameOf(request)) : undefined;
    return attempt !== undefined && 'calls' in attempt.by ? { calls: attempt.by.calls } : 'noted';
  };
}

/** What a text shows of assistants other than this one. */
function leaked(text: string, name: Name): readonly string[] {
  return NAMES.filter((one) => one !== name).flatMap((other) => canariesIn(text, other));
}

/** `usual`: as a new home has them. `widest`: opened to the whole machine, and to the folder around all homes by name. */
export function crosswiseSuite(settings: readonly ('usual' | 'widest')[]): void {
  describe('three assistants on one bot', () => {
    test.each(settings)(
      'with the %s settings, 300 attempts to read each other: none succeeds, and the same ones succeed at home',
      { timeout: 600_000 },
      async (opened) => {
        await using world = await openWorld(opened === 'widest');
        const running = new Map<Name, Attempt>();
        world.model.setHandler(play(running));
        const targets = new Map<Name, Target>();
        for (const name of NAMES) targets.set(name, await live(world, name));
        const target = (name: Name): Target => targets.get(name) ?? expect.fail(name);
        for (const name of NAMES) for (const other of NAMES) await putLinks(target(name).workspace, target(other));

        let number = 0;
        const run = async (name: Name, attempt: Attempt): Promise<string> => {
          running.set(name, attempt);
          number += 1;
          const { by } = attempt;
          if ('calls' in by) return await ask(world, name, `attempt ${number}`, { ends: `end of attempt ${number}.` });
          const message = { message_id: by.replyTo, date: 1, chat: { id: PEOPLE[name], type: 'private' } };
          return await ask(
            world,
            name,
            by.text,
            by.replyTo === undefined ? {} : { extra: { reply_to_message: message } },
          );
        };
        const crossed: string[] = [];
        const idle: string[] = [];
        let crosswise = 0;
        const tryAll = async (name: Name): Promise<void> => {
          for (const attempt of attemptsOn(target(name), target(name))) {
            if (attempt.onlyAcross === true) continue;
            const answered = await run(name, attempt);
            const isFound = canariesIn(answered, name).length > 0 || answered.includes(`own-${name}`);
            if (attempt.worksAtHome === true && !isFound) idle.push(`${name} ${attempt.is}: ${answered.slice(0, 300)}`);
          }
          for (const other of NAMES.filter((one) => one !== name)) {
            for (const attempt of attemptsOn(target(other), target(name))) {
              crosswise += 1;
              const answered = await run(name, attempt);
              if (leaked(answered, name).length > 0) crossed.push(`${name} ${attempt.is}: ${answered.slice(0, 300)}`);
            }
          }
        };
        await Promise.all(NAMES.map(tryAll));
        expect(idle).toEqual([]);
        expect(crossed).toEqual([]);
        expect(crosswise).toBeGreaterThanOrEqual(300);

        await waitFor(() => world.model.inFlight === 0);
        for (const request of world.model.requests) {
          expect(leaked(request.text, nameOf(request)), `request ${request.index}`).toEqual([]);
        }
        for (const name of NAMES) {
          const shown = chatOf(world, PEOPLE[name]).join('\n');
          expect(shown).not.toContain(`canary-cross-${name}`);
          expect(leaked(shown, name)).toEqual([]);
          expect(await readFile(join(target(name).workspace, 'secret.txt'), 'utf8')).toBe(`${canary(name, 'file')}\n`);
        }
      },
    );
  });
}
