import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { SkillCatalog } from '../../src/core/skills/catalog.ts';
import { planInstall } from '../../src/core/skills/install.ts';
import { skillsIndex } from '../../src/core/skills/skills-index.ts';
import { CASES_FILE, type Skill } from '../../src/core/skills/skill.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { tempFolder } from '../support/temp.ts';
import { testWith } from '../support/test-with.ts';

const NAMES = ['browser', 'cron', 'github', 'memory', 'skill-creator', 'summarize', 'tmux', 'weather'];
const FOLDER = realpathSync(fileURLToPath(new URL('../../skills', import.meta.url)));
const TOOLS = new Set(
  'read_file write_file edit_file apply_patch list_dir glob grep exec process web_search web_fetch message ask_user spawn cron memory_search memory_write skill tape batch'.split(
    ' ',
  ),
);
/** Words with an underscore that are no tools. */
const OTHER_WORDS = new Set(['weather_code']);
const POSIX = new Set(
  'cat cd cp cut date echo find grep head ls mkdir mv printf rm sed sleep sort tail tee test tr wc'.split(' '),
);

function catalog(folder = FOLDER): SkillCatalog {
  return new SkillCatalog({
    roots: [{ path: folder, source: 'package' }],
    env: {},
    config: {},
    disabled: [],
    entries: {},
    platform: 'linux',
    log: silentLog,
  });
}

async function bundled(name: string): Promise<Skill> {
  const loaded = await catalog().load(name);
  if (loaded === undefined) throw new Error(`${name} is missing`);
  return loaded.skill;
}

/** The lines of fenced shell blocks. */
function shellLines(body: string): readonly string[] {
  const blocks = [...body.matchAll(/^```(?:sh|bash|shell|console)\n(.*?)^```/gmsu)].map(([, lines = '']) => lines);
  return blocks.flatMap((lines) => lines.split('\n')).filter((line) => line.trim() !== '' && !line.startsWith('#'));
}

test('eight skills come with the assistant, and nothing is odd about them', async () => {
  const { skills, disabled, warnings } = await catalog().survey();
  expect(skills.map(({ name }) => name)).toEqual(NAMES);
  expect({ disabled, warnings }).toEqual({ disabled: [], warnings: [] });
});

describe.each(NAMES)('%s', (name) => {
  test('is small, loads without a warning, and nothing in it is risky', async () => {
    const skill = await bundled(name);
    expect(skill.warnings).toEqual([]);
    expect(basename(skill.folder)).toBe(name);
    expect(skill.description.length).toBeLessThanOrEqual(120);
    const plan = await planInstall(skill.folder);
    // Only a test reads its cases.
    const read = plan.files.filter(({ path }) => path !== CASES_FILE).reduce((sum, { size }) => sum + size, 0);
    expect(read).toBeLessThanOrEqual(2_500);
    expect(plan.risks).toEqual([]);
  });

  test('asks for the programs that its commands run', async () => {
    const { body, requires } = await bundled(name);
    const programs = shellLines(body).map((line) => line.trim().split(/\s/u)[0] ?? '');
    expect(programs.filter((program) => !requires.bins.includes(program) && !POSIX.has(program))).toEqual([]);
    // What is asked for is used.
    expect(requires.bins.filter((program) => !programs.includes(program))).toEqual([]);
  });

  test('names tools that exist', async () => {
    const { body } = await bundled(name);
    const words = [...body.matchAll(/`(?<word>[a-z]+(?:_[a-z]+)*)`/gu)].map(({ groups }) => groups?.['word'] ?? '');
    const named = words.filter((word) => word.includes('_') || TOOLS.has(word));
    expect(named.filter((word) => !TOOLS.has(word) && !OTHER_WORDS.has(word))).toEqual([]);
    expect(named.some((word) => TOOLS.has(word))).toBe(true);
  });
});

test('the one that is always in the prompt costs at most 500 bytes', async () => {
  const { skills } = await catalog().survey();
  const always = skills.filter((skill) => skill.always);
  expect(always.map(({ name }) => name)).toEqual(['memory']);
  expect(Buffer.byteLength(always[0]?.body ?? '')).toBeLessThanOrEqual(500);
});

test.each([true, false])('their index costs less than 1,600 bytes (programs there: %s)', async (there) => {
  const skills = (await catalog().read()).map((skill) => ({
    ...skill,
    file: join('/usr/local/lib/node_modules/assistant/skills', skill.name, 'SKILL.md'),
    missing: there ? [] : skill.missing,
  }));
  expect(Buffer.byteLength(skillsIndex(skills) ?? '')).toBeLessThan(1_600);
});

test('the example of skill-creator is a skill without a flaw', async () => {
  const { body } = await bundled('skill-creator');
  const [, example = ''] = /^```markdown\n(.*?)^```/msu.exec(body) ?? [];
  await using folder = await tempFolder();
  mkdirSync(join(folder.path, 'invoices'));
  writeFileSync(join(folder.path, 'invoices/SKILL.md'), example);
  expect(await catalog(folder.path).read()).toMatchObject([
    { name: 'invoices', warnings: [], missing: ['program pandoc'], requires: { bins: ['pandoc'] } },
  ]);
});

testWith('tmux')('the commands of tmux do what they say', async () => {
  await using folder = await tempFolder();
  const lines = shellLines((await bundled('tmux')).body).map((line) => line.replace('python3 -q', 'echo it works'));
  const env = {
    PATH: process.env['PATH'],
    HOME: folder.path,
    TMUX_TMPDIR: folder.path,
    LANG: 'C.UTF-8',
    TERM: 'xterm',
  };
  const run = (line: string): string => execFileSync('/bin/sh', ['-c', line], { env, encoding: 'utf8', stdio: 'pipe' });
  const [start = '', type = '', enter = '', capture = '', list = '', kill = ''] = lines;
  expect(lines).toHaveLength(6);
  run(start);
  try {
    run(type);
    run(enter);
    await expect.poll(() => run(capture), { timeout: 5_000 }).toMatch(/^it works$/mu);
    expect(run(list)).toMatch(/^work: /u);
  } finally {
    run(kill);
  }
});

test('the weather addresses are well formed', async () => {
  const urls = [...readFileSync(join(FOLDER, 'weather/SKILL.md'), 'utf8').matchAll(/`(https:\/\/[^`]+)`/gu)];
  expect(urls).toHaveLength(4);
  const hosts = urls.map(([, url = '']) => new URL(url).host);
  expect(new Set(hosts)).toEqual(new Set(['wttr.in', 'geocoding-api.open-meteo.com', 'api.open-meteo.com']));
});
