import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { TinCanServer, type Call, type User } from '../../examples/tin-can/server.ts';
import { startKilledGateway, type KilledGateway } from '../support/killed-gateway.ts';
import { writePage } from '../support/page-package.ts';
import { fillUp, mountSmallDisk, whyNoSmallDisks } from '../support/small-disk.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const token = 'string-and-two-cans';
const ann: User = { id: 'ann', name: 'ann', bot: false };

interface Scene extends AsyncDisposable {
  readonly tincan: TinCanServer;
  readonly gateway: KilledGateway;
  /** The folder of the home, and a small disk if it has to be one. */
  readonly disk: string;
  /** Decides over the calls of the channel; see `TinCanServer`. */
  hold(onCall: (call: Call) => Promise<boolean>): void;
}

/** A gateway in a process of its own with the channel of the page, on a disk of `megabytes`. @default the disk of this machine */
async function open(megabytes?: number): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  let held: (call: Call) => Promise<boolean> = async () => false;
  const tincan = stack.use(await TinCanServer.open({ token, onCall: (call) => held(call) }));
  const { path } = stack.use(await tempFolder());
  const folder = join(path, 'tincan-channel');
  await writePage('writing-a-channel.md', folder);
  const disk = join(path, 'disk');
  await mkdir(disk);
  if (megabytes !== undefined) stack.use(mountSmallDisk(disk, megabytes));
  const home = join(disk, 'home');
  await mkdir(home, { mode: 0o700 });
  const config = { channels: { tincan: { server: tincan.url, token, allowFrom: [ann.id], stream: false } } };
  const gateway = stack.use(await startKilledGateway({ home, config, before: [['plugins', 'add', folder, '--yes']] }));
  gateway.model.setHandler(({ view }) => `Answer to ${view.lastUserText.split('\n').at(-1)}`);
  const owned = stack.move();
  return {
    tincan,
    gateway,
    disk,
    hold: (onCall) => {
      held = onCall;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const textsOf = ({ tincan }: Scene): readonly string[] => tincan.shown.map(({ text }) => text);

describe('the channel of docs/writing-a-channel.md', () => {
  test('that is killed when a message was given out loses nothing and answers it once', async () => {
    await using scene = await open();
    const { tincan, gateway } = scene;
    let isKilled = false;
    scene.hold(async ({ name, act, response }) => {
      if (isKilled || name !== 'GET /updates') return false;
      const updates = await act();
      if (tincan.unconfirmed.length === 0) return false;
      isKilled = true;
      response.end(JSON.stringify(updates));
      await gateway.kill();
      return true;
    });
    tincan.say({ from: ann, text: 'hello' });
    await waitFor(() => isKilled, { what: 'an update that is given out' });
    await answersOnce(scene);
  });

  test('that is killed when it confirms a message answers it once', async () => {
    await using scene = await open();
    const { tincan, gateway } = scene;
    let confirmed: number | undefined;
    scene.hold(async ({ name, after }) => {
      const [update] = tincan.unconfirmed;
      if (confirmed !== undefined || name !== 'GET /updates' || update === undefined || after < update.id) return false;
      confirmed = after;
      await gateway.kill();
      return true;
    });
    tincan.say({ from: ann, text: 'hello' });
    await waitFor(() => confirmed !== undefined, { what: 'a confirmation' });
    expect(tincan.unconfirmed).toHaveLength(1);
    await answersOnce(scene);
  });

  const why = whyNoSmallDisks();
  test.skipIf(why !== null)('confirms nothing while the disk is full, and answers when there is room', async () => {
    await using scene = await open(24);
    const { tincan, disk } = scene;
    tincan.say({ from: ann, text: 'before' });
    await waitFor(() => textsOf(scene).includes('Answer to before'), { what: 'an answer' });
    await waitFor(() => tincan.unconfirmed.length === 0, { what: 'a queue that is confirmed' });
    const ballast = join(disk, 'ballast');
    await fillUp(ballast);
    tincan.say({ from: ann, text: 'meanwhile' });
    await waitFor(() => textsOf(scene).some((text) => /is full/u.test(text)), { what: 'a notice about the disk' });
    expect(tincan.unconfirmed).toHaveLength(1);
    expect(textsOf(scene)).not.toContain('Answer to meanwhile');
    await rm(ballast);
    await waitFor(() => textsOf(scene).includes('Answer to meanwhile'), { what: 'an answer' });
    await waitFor(() => tincan.unconfirmed.length === 0, { what: 'a queue that is confirmed' });
    expect(textsOf(scene).filter((text) => text === 'Answer to meanwhile')).toHaveLength(1);
  });
});

async function answersOnce(scene: Scene): Promise<void> {
  const { tincan, gateway } = scene;
  await waitFor(async () => !(await fetch(`${gateway.address}/health`).then(Boolean, () => false)), {
    what: 'the end of the process',
  });
  await gateway.start();
  await waitFor(() => textsOf(scene).includes('Answer to hello'), { what: 'an answer' });
  tincan.say({ from: ann, text: 'and now?' });
  await waitFor(() => textsOf(scene).includes('Answer to and now?'), { what: 'the next answer' });
  expect(textsOf(scene)).toEqual(['Answer to hello', 'Answer to and now?']);
  await waitFor(() => tincan.unconfirmed.length === 0, { what: 'a queue that is confirmed' });
}
