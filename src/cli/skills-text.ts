import type { InstallPlan, Risk, Skill } from '../app/skill-shop.ts';
import { oneLine, plural } from '../util/text.ts';
import { visible } from './printable.ts';

interface ListedSkill extends Pick<Skill, 'name' | 'source' | 'description' | 'missing' | 'always'> {
  readonly enabled: boolean;
}

export function listLines(skills: readonly ListedSkill[]): readonly string[] {
  if (skills.length === 0) return ['There are no skills. assistant skills add PATH adds one.'];
  const width = Math.max(...skills.map(({ name }) => name.length));
  const states = skills.map(stateOf);
  const stateWidth = Math.min(28, Math.max(...states.map((state) => state.length)));
  return skills.map(({ name, source, description }, index) =>
    [name.padEnd(width), source.padEnd(9), (states[index] ?? '').padEnd(stateWidth), oneLine(description, 80)].join(
      '  ',
    ),
  );
}

function stateOf({ enabled, missing, always }: ListedSkill): string {
  if (!enabled) return 'off';
  if (missing.length > 0) return `needs ${missing.join(', ')}`;
  return always ? 'always' : 'ready';
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
    `${name} (${source}): ${visible(description)}`,
    ...rows({
      folder,
      files: files.map(visible).join(', '),
      'used by': calls.join(', '),
      needs: needsOf(skill),
      missing: missing.join(', '),
      ...aboutText(skill),
    }),
    ...skill.warnings.map((warning) => `⚠ ${visible(warning)}`),
    '',
    skill.body.trimEnd(),
  ];
}

/** What a person has to know before they add a skill. */
export function aboutPlan({ folder, skill, files, size, risks }: InstallPlan): readonly string[] {
  const width = Math.max(...files.map(({ size }) => String(size).length));
  return [
    `${skill.name}: ${visible(skill.description)}`,
    ...rows({ from: visible(folder), needs: needsOf(skill), ...aboutText(skill) }),
    '',
    `${plural(files.length, 'file')}, ${plural(size, 'byte')}:`,
    ...files.map((file) => {
      const mark = file.executable ? ' (may be run)' : '';
      return `  ${file.sha256}  ${String(file.size).padStart(width)}  ${visible(file.path)}${mark}`;
    }),
    ...skill.warnings.map((warning) => `⚠ ${visible(warning)}`),
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
  const told = skills.flatMap(({ name, folder, missing, warnings, risks }) => {
    const found = [
      ...(missing.length === 0 ? [] : [`  needs ${missing.join(', ')}`]),
      ...warnings.map((warning) => `  ⚠ ${visible(warning)}`),
      ...risks.map(riskLine),
    ];
    return found.length === 0 ? [] : [`${name} in ${visible(folder)}`, ...found];
  });
  const fine = skills.filter((skill) => skill.warnings.length + skill.risks.length + skill.missing.length === 0).length;
  return [
    ...warnings.map((warning) => `⚠ ${visible(warning)}`),
    ...told,
    `${plural(skills.length, 'skill')}, ${fine} with nothing to say about.`,
  ];
}

function riskLine({ file, line, kind, excerpt }: Risk): string {
  return `  ! ${kind}: ${visible(file)}${line === 0 ? '' : `:${line}`}: ${visible(excerpt)}`;
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
    install: install.map(visible).join('; '),
    tools: tools === undefined ? '' : `only ${tools.join(', ') || 'none'}`,
    homepage: visible(homepage ?? ''),
    license: visible(license ?? ''),
  };
}

/** Those with something to say. */
function rows(facts: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(facts)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `  ${name.padEnd(9)} ${value}`);
}
