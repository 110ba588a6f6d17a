import { appendFile, copyFile, mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAssistant } from 'assistantd';

const at = (...names: readonly string[]): string => join(import.meta.dirname, ...names);
const [day = new Date().toISOString().slice(0, 10)] = process.argv.slice(2);

const names = (await readdir(at('photos'))).filter((name) => /\.(?:png|jpe?g|webp)$/iu.test(name)).toSorted();
const photos = await Promise.all(names.map((name) => readFile(at('photos', name))));

await using assistant = await createAssistant({
  home: at('home'),
  config: { log: { level: 'error' } },
  // Called when a turn has ended, however it ended.
  hooks: {
    turnEnd: async (_turn, { outcome, costUsd, durationMs }) =>
      await appendFile(at('turns.csv'), `${day},${outcome},${costUsd ?? ''},${durationMs}\n`),
  },
});

const { errorKind, text, model, media, toolCalls, usage, costUsd, turnId } = await assistant.run(
  `These are the photos of our shelves on ${day}: ${names.join(', ')}. Write to shelves.md what is missing, and send me that file.`,
  {
    // A session of its own for each day, so that an old report never colours a new one.
    session: `report-${day}`,
    images: photos,
    tools: ['write_file', 'message'],
    // No one is waiting: much patience, but not without end.
    retries: 8,
    timeoutMs: 20 * 60_000,
    ...(process.env['REPORT_MODEL'] === undefined ? {} : { model: process.env['REPORT_MODEL'] }),
  },
);

await mkdir(at('reports'), { recursive: true });
for (const { path, name } of media) {
  await copyFile(path, at('reports', `${day}-${name}`));
  console.log(`reports/${day}-${name}`);
}
const done = toolCalls.filter(({ ok }) => ok).map(({ title }) => title);
console.log(`${model ?? 'no model'}: ${done.join(', ') || 'nothing done'}`);
console.log(`${usage.input} tokens in, ${usage.output} out, ${costUsd === null ? 'cost not known' : `${costUsd} $`}`);
if (errorKind !== null || media.length === 0) {
  console.error(`No report (${errorKind ?? 'the model sent no file'}): ${text}`);
  console.error(`Why: assistant why ${turnId ?? ''} --home ${at('home')}`);
  process.exitCode = 1;
}
