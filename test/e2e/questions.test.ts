import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { homePaths } from '../../src/core/config/home.ts';
import type { ApprovalQuestion } from '../../src/core/gateway/assistant-port.ts';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { call, GROUP } from '../support/three-people.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';
import { say } from '../support/say.ts';

const ASKING = { tools: { exec: { mode: 'ask', sandbox: 'off' } } };
const runs = (command: string): object => ({ calls: [{ name: 'exec', arguments: { command } }] });
/** Each holds a command behind what looks like a secret. */
const BEHIND_SECRETS = [
  'echo Cookie: a=123456789; touch pwned',
  'echo set-cookie: s=1234567890abcdef$(touch${IFS}pwned)',
  'echo machine h login u password p;touch${IFS}pwned',
  'echo "https://u:$(touch pwned)@host/"',
  `echo "https://host/?sig=${'A1b2'.repeat(12)}" && touch pwned`,
];
/** 300 lines that fit no message. */
const LONG = Array.from({ length: 300 }, (_, n) => `echo this is line number ${n}`).join('\n') + '\ntouch end.txt';

async function question(world: World, chat = OWNER): Promise<{ text: string; code: string; messageId: number }> {
  const asked = (): World['telegram']['sentMessages'][number] | undefined =>
    world.telegram.sentMessages.findLast((one) => one.chatId === chat && one.visibleText.includes('/approve '));
  await waitFor(() => asked() !== undefined, { what: 'a question' });
  const { visibleText: text, messageId } = asked() ?? { visibleText: '', messageId: 0 };
  return { text, messageId, code: /\/approve (\w+)/u.exec(text)?.[1] ?? '' };
}

const documentsIn = (world: World, chat = OWNER): readonly string[] =>
  world.telegram.sentMessages.flatMap(({ chatId, file }) =>
    chatId === chat && file !== undefined ? [Buffer.from(file.bytes).toString('utf8')] : [],
  );

describe('what a person is asked about is what will run', () => {
  test.each(BEHIND_SECRETS)('in a chat, in the list of questions and in the audit log: %s', async (command) => {
    await using world = await startWorld({ config: ASKING });
    const remote = await connectAssistant(homePaths(world.home).socket, systemClock);
    if (remote === undefined) throw new Error('nobody listens');
    await using _remote = remote;
    world.model.reply(runs(command), 'Done.');
    world.telegram.userSays(OWNER, 'go on');
    const { text, code } = await question(world);
    expect(text).toContain(command);
    const { waiting } = await remote.call('approvalsList', {});
    expect(waiting.map(({ detail }) => detail)).toEqual([command]);
    world.telegram.userSays(OWNER, `/approve ${code}`);
    await waitFor(() => chatOf(world).includes('Done.'));
    const [entry] = await remote.call('audit', { count: 1, asked: true, about: 'exec' });
    expect(entry?.what).toBe(`exec ${JSON.stringify({ command })}`);
    expect(await readFile(join(world.home, 'audit.jsonl'), 'utf8')).toContain(JSON.stringify(entry?.what));
  });

  test('at a terminal behind the control socket', async () => {
    await using world = await startWorld({ config: ASKING });
    const remote = await connectAssistant(homePaths(world.home).socket, systemClock);
    if (remote === undefined) throw new Error('nobody listens');
    await using _remote = remote;
    const asked: ApprovalQuestion[] = [];
    for (const command of BEHIND_SECRETS) {
      world.model.reply(runs(command), 'Fine.');
      const onApproval = async (one: ApprovalQuestion): Promise<boolean> => {
        asked.push(one);
        return false;
      };
      await say(remote, 'go on', { onApproval });
    }
    expect(asked.map(({ detail }) => detail)).toEqual(BEHIND_SECRETS);
    expect(existsSync(join(world.workspace, 'pwned'))).toBe(false);
  });

  test('also of a file that shapes the assistant, of which every line is shown', async () => {
    await using world = await startWorld();
    const lines = [...BEHIND_SECRETS, ...Array.from({ length: 40 }, (_, n) => `rule ${n}`)];
    const change = { path: 'AGENTS.md', content: lines.join('\n') };
    world.model.reply({ calls: [{ name: 'write_file', arguments: change }] }, 'Done.');
    world.telegram.userSays(OWNER, 'A stranger says: do it.', { forward_date: 1 });
    const { text } = await question(world);
    expect(lines.filter((line) => !text.includes(`+ ${line}`))).toEqual([]);
  });

  test('with its hosts named plainly and its empty lines counted', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(runs(`git clone https://gіthub.com/x\n${'\n'.repeat(1_000)}touch x`), 'Done.');
    world.telegram.userSays(OWNER, 'go on');
    const { text } = await question(world);
    expect(text).toContain('https://gіthub.com ⟨really xn--gthub-n2e.com⟩/x\n⟨1000 empty lines⟩\ntouch x');
  });
});

describe('what is longer than a message', () => {
  test('is one file, whole, before one question that names its hash', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(runs(LONG), 'Done.');
    world.telegram.userSays(OWNER, 'go on');
    const { text, code } = await question(world);
    expect(documentsIn(world)).toEqual([LONG]);
    expect(text).toContain(`(${LONG.length} characters) is in the file what-will-run.txt above`);
    expect(text).toContain(createHash('sha256').update(LONG).digest('hex'));
    expect(chatOf(world)).toHaveLength(2);
    world.telegram.userSays(OWNER, `/approve ${code}`);
    await waitFor(() => chatOf(world).includes('Done.'));
    expect(existsSync(join(world.workspace, 'end.txt'))).toBe(true);
  });

  test('goes to the owner alone when a group asked', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply('Hello.', runs(LONG), 'Done.');
    world.telegram.userSays(OWNER, 'hi');
    await waitFor(() => chatOf(world).includes('Hello.'));
    call(world, 'go on', 'owner');
    const { text } = await question(world);
    expect(text).toContain('Run a command?');
    expect(documentsIn(world)).toEqual([LONG]);
    expect(chatOf(world, GROUP)).toEqual([]);
  });

  test('is refused, and the model reads why, where a group asks and no direct chat with the owner is known', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(runs(LONG), 'I see.');
    call(world, 'go on', 'owner');
    await waitFor(() => chatOf(world, GROUP).some((text) => text.startsWith('I see.')), { what: 'an answer' });
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain(
      'a file with it is only sent to a direct chat with the owner, and none is known',
    );
    expect(documentsIn(world)).toEqual([]);
    expect(chatOf(world, GROUP)).toEqual(['I see.\n\nNot done: a command was refused.']);
  });

  test('is refused, and the model reads why, where its file does not arrive', async () => {
    await using world = await startWorld({ config: ASKING });
    world.telegram.faultNext('sendDocument', { status: 400, description: 'Bad Request: no files here' });
    world.model.reply(runs(LONG), 'I see.');
    world.telegram.userSays(OWNER, 'go on');
    await waitFor(() => chatOf(world).some((text) => text.startsWith('I see.')), { what: 'an answer' });
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain(
      `the owner has to read all of it first, it has ${LONG.length} characters, and the file with it could not be sent`,
    );
    expect(chatOf(world).some((text) => text.includes('/approve'))).toBe(false);
  });
});

describe('a question that was answered', () => {
  test.each([
    ['approve', 'Allowed by Ann.'],
    ['deny', 'Not allowed by Ann.'],
  ])('says once what became of it, and no longer how to answer: %s', async (verdict, words) => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(runs('touch a.txt'), 'Done.');
    world.telegram.userSays(OWNER, 'go on');
    const { code, messageId } = await question(world);
    world.telegram.userSays(OWNER, `/${verdict} ${code}`, { from: { id: OWNER, first_name: 'Ann' } });
    await waitFor(() => chatOf(world).some((text) => text.startsWith('Done.')));
    const message = (): World['telegram']['sentMessages'][number] | undefined =>
      world.telegram.sentMessages.find((one) => one.messageId === messageId);
    await waitFor(() => message()?.visibleText.endsWith(words) === true, { what: 'the closing words' });
    expect(message()?.replyMarkup).toBeUndefined();
    expect(message()?.visibleText).toContain('touch a.txt');
    expect(message()?.visibleText).not.toMatch(/\/approve|\/deny|within 10 minutes/u);
    expect(message()?.visibleText.split(words)).toHaveLength(2);
  });
});

test('what was allowed for good and may be no more is forgotten at the next start, and the owner is told once', async () => {
  await using world = await startWorld();
  world.model.reply('Hello.');
  world.telegram.userSays(OWNER, 'hi');
  await waitFor(() => chatOf(world).includes('Hello.'));
  const db = new DatabaseSync(join(world.home, 'state.db'));
  const insert = db.prepare(
    "INSERT INTO allowances (id, hash, program, folder, created_by, created_at) VALUES (?, ?, ?, '/w', 'telegram:42', 1)",
  );
  insert.run('aaaaaaaa', 'h1', JSON.stringify(['/usr/bin/git', 'commit', '-m', 'wip']));
  insert.run('bbbbbbbb', 'h2', JSON.stringify(['/usr/bin/uptime']));
  db.close();
  const told = (): readonly string[] => chatOf(world).filter((text) => text.includes('allowed for good'));
  await world.restart();
  await waitFor(() => told().length > 0, { what: 'the notice' });
  expect(told()[0]).toMatch(/^1 command that you had allowed for good asks again[^]*\/usr\/bin\/git commit -m wip$/u);
  const { remembered } = await world.assistant.call('approvalsList', {});
  expect(remembered.map(({ program }) => program)).toEqual([['/usr/bin/uptime']]);
  await world.restart();
  world.model.reply('Again.');
  world.telegram.userSays(OWNER, 'hi again');
  await waitFor(() => chatOf(world).includes('Again.'));
  expect(told()).toHaveLength(1);
});
