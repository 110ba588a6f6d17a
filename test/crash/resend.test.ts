import { join } from 'node:path';
import { expect } from 'vitest';
import { testUnless } from '../support/test-with.ts';
import { Machine } from '../support/crash-machine.ts';
import { CHATS, killHard, prepareHome, startChild, stopSoftly } from '../support/crash-process.ts';
import { whyNoDiskLibrary } from '../support/disk-library.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { startFakeTelegram } from '../support/fake-telegram.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const powerTest = testUnless(await whyNoDiskLibrary());
const slow = { timeoutMs: 60_000 };

powerTest(
  'an answer that was sent again as the power failed is not sent a third time, and its chat is told what is unknown',
  { timeout: 400_000 },
  async () => {
    await using folder = await tempFolder();
    await using telegram = await startFakeTelegram();
    await using model = await startFakeOpenAi({
      handler: ({ view }) => `The answer to ${view.lastUserText.split('\n').at(-1)}.`,
    });
    // Nothing that no sync covered is left.
    await using machine = await Machine.with(join(folder.path, 'home'), { isCut: true, random: () => 0 });
    await prepareHome(machine.home, telegram, model.url, 'openai');
    const [chat = 0] = CHATS;
    const texts = (): readonly string[] => telegram.sentMessages.map(({ visibleText }) => visibleText);
    let sends = 0;
    telegram.setFaultHandler(({ method }) => {
      if (method !== 'sendMessage') return undefined;
      sends += 1;
      return sends === 1 ? 'reset-after' : { hang: true, taken: true };
    });
    const child = await startChild(machine.home, await machine.options());
    telegram.userSays(chat, 'one');
    await waitFor(() => texts().length === 2, { ...slow, what: 'the second copy' });
    await killHard(child);
    await machine.lost();
    telegram.setFaultHandler(() => undefined);
    const next = await startChild(machine.home, await machine.options());
    telegram.userSays(chat, 'two');
    await waitFor(() => texts().includes('The answer to two.'), { ...slow, what: 'the next answer' });
    await stopSoftly(next);
    expect(texts()).toEqual([
      'The answer to one.',
      '↻ The answer to one.',
      expect.stringMatching(
        /^An earlier message here may not have reached you: it was sent twice .*“The answer to one\.”/u,
      ),
      'The answer to two.',
    ]);
  },
);
