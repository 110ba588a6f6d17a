import type { InstallPlan, Risk, Skill } from '../../core/skills/skill-installer.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { oneLine, plural } from '../../core/util/text.ts';
import { terminalText, escapeInvisible } from '../../core/cli/format.ts';

interface ListedSkill extends Pick<Skill, 'name' | 'source' | 'description' | 'missing' | 'always' | 'warnings'> {
  readonly enabled: boolean;
  /** Another program brought it, and no one agreed to it as it is. @default false */
  readonly found?: boolean;
}

const LONGEST_NAME = 32;
const LONGEST_STATE = 28;

export function listLines(skills: readonly ListedSkill[]): readonly string[] {
  if (skills.length === 0) return [`There are no skills. To add one, run: ${assistantCommand('skills add PATH')}`];
  const rows = skills.map((skill) => ({
    name: oneLine(skill.name, LONGEST_NAME),
    source: skill.source,
    state: oneLine(escapeInvisible(stateOf(skill)), LONGEST_STATE),
    description: oneLine(escapeInvisible(skill.description), 80),
  }));
  const width = (of: 'name' | 'source' | 'state'): number => Math.max(...rows.map((row) => row[of].length));
  const [name, source, state] = [width('name'), width('source'), width('state')];
  return [
    ...rows.map((row) =>
      [row.name.padEnd(name), row.source.padEnd(source), row.state.padEnd(state), row.description].join('  '),
    ),
    ...advice(skills),
  ];
}

function stateOf({ enabled, found = false, missing, always, warnings }: ListedSkill): string {
  const odd = warnings.length > 0 ? ', odd' : '';
  if (!enabled) return `off${odd}`;
  if (found) return `found, not enabled${odd}`;
  if (missing.length > 0) return `${odd === '' ? '' : 'odd, '}needs ${missing.join(', ')}`;
  return `${always ? 'always' : 'ready'}${odd}`;
}

/** What to do about those that are not simply ready. */
function advice(skills: readonly ListedSkill[]): readonly string[] {
  const found = skills.find((skill) => skill.found === true);
  const odd = skills.find(({ warnings }) => warnings.length > 0);
  const lines = [
    ...(found === undefined
      ? []
      : [
          'Other programs brought skills that are not enabled.',
          `To use one, run: ${assistantCommand(`skills enable ${found.name}`)}`,
        ]),
    ...(odd === undefined
      ? []
      : [`To see what is odd about a skill, run: ${assistantCommand(`skills check ${odd.name}`)}`]),
  ];
  return lines.length === 0 ? [] : ['', ...lines];
}

/** All about a skill, and its text. */
export function aboutSkill(skill: Skill, files: readonly string[]): readonly string[] {
  const { name, source, description, folder, missing, always, userInvocable, disableModelInvocation } = skill;
  const calls = [
    ...(userInvocable ? [`people (/${name})`] : []),
    ...(disableModelInvocation ? [] : ['the assistant']),
    ...(always ? ['always active'] : []),
  ];
  return [
    `${name} (${source}): ${escapeInvisible(description)}`,
    ...rows({
      folder: escapeInvisible(folder),
      files: files.map(escapeInvisible).join(', '),
      'used by': calls.join(', '),
      needs: escapeInvisible(needsOf(skill)),
      missing: escapeInvisible(missing.join(', ')),
      ...aboutText(skill),
    }),
    ...skill.warnings.map((warning) => `⚠ ${escapeInvisible(warning)}`),
    '',
    terminalText(skill.body.trimEnd()),
  ];
}

/** What a person has to know before they add a skill. */
export function aboutPlan({ folder, skill, files, size, risks }: InstallPlan): readonly string[] {
  const width = Math.max(...files.map(({ size }) => String(size).length));
  return [
    `${skill.name}: ${escapeInvisible(skill.description)}`,
    ...rows({ from: escapeInvisible(folder), needs: escapeInvisible(needsOf(skill)), ...aboutText(skill) }),
    '',
    `${plural(files.length, 'file')}, ${plural(size, 'byte')}:`,
    ...files.map((file) => {
      const mark = file.executable ? ' (may be run)' : '';
      return `  ${file.sha256}  ${String(file.size).padStart(width)}  ${escapeInvisible(file.path)}${mark}`;
    }),
    ...skill.warnings.map((warning) => `⚠ ${escapeInvisible(warning)}`),
    '',
    ...(risks.length === 0
      ? ['Nothing risky was found. That proves nothing: read it before you trust it.']
      : ['Look at this before you agree:', ...risks.map(riskLine)]),
  ];
}

interface FoundIn extends Pick<Skill, 'name' | 'folder' | 'missing' | 'warnings'> {
  readonly risks: readonly Risk[];
}

/** What was found in skills; those with nothing are only counted. */
export function findingLines(skills: readonly FoundIn[], warnings: readonly string[]): readonly string[] {
  const problems = skills.flatMap(({ name, folder, missing, warnings, risks }) => {
    const found = [
      ...(missing.length === 0 ? [] : [`  needs ${escapeInvisible(missing.join(', '))}`]),
      ...warnings.map((warning) => `  ⚠ ${escapeInvisible(warning)}`),
      ...risks.map(riskLine),
    ];
    return found.length === 0 ? [] : [`${name} in ${escapeInvisible(folder)}`, ...found];
  });
  const remarked = skills.filter((skill) => skill.warnings.length + skill.risks.length + skill.missing.length > 0);
  const verdict = remarked.length === 0 ? 'no problems found' : `${remarked.length} with remarks`;
  return [
    ...warnings.map((warning) => `⚠ ${escapeInvisible(warning)}`),
    ...problems,
    `${plural(skills.length, 'skill')} checked, ${verdict}.`,
  ];
}

function riskLine({ file, line, kind, excerpt }: Risk): string {
  return `  ! ${kind}: ${escapeInvisible(file)}${line === 0 ? '' : `:${line}`}: ${escapeInvisible(excerpt)}`;
}

function needsOf({ requires, os }: Pick<Skill, 'requires' | 'os'>): string {
  return [
    ...requires.bins.map((program) => `program ${program}`),
    ...(requires.anyBins.length === 0 ? [] : [`program ${requires.anyBins.join(' or ')}`]),
    ...requires.env.map((name) => `variable ${name}`),
    ...requires.config.map((path) => `setting ${path}`),
    ...(os.length === 0 ? [] : [`system ${os.join(' or ')}`]),
  ].join(', ');
}

function aboutText({
  install,
  allowedTools,
  homepage,
  license,
}: InstallPlan['skill']): Readonly<Record<string, string>> {
  const tools = allowedTools?.map(({ tool, commandPrefix }) =>
    commandPrefix === undefined ? tool : `${tool} (${commandPrefix} …)`,
  );
  return {
    install: install.map(escapeInvisible).join('; '),
    tools: tools === undefined ? '' : `only ${tools.join(', ') || 'none'}`,
    homepage: escapeInvisible(homepage ?? ''),
    license: escapeInvisible(license ?? ''),
  };
}

/** Those with something to say. */
function rows(facts: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(facts)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `  ${name.padEnd(9)} ${value}`);
}
