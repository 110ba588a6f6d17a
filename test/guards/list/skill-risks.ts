import { guardsIn, type Guard } from '../guard.ts';

/** What is told of a skill before it is added, and what is added. */
export const SKILL_RISK_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'skills/install.ts',
    ['skills/install.test.ts'],
    [
      {
        name: 'remove-own-only',
        holds: 'Nothing outside of the workspace is removed with a skill.',
        find: "if (skill.source !== 'workspace' || !skill.folder.startsWith(root + sep)) {",
        replace: 'if (skill.folder === sep) {',
      },
      {
        name: 'install-devices',
        holds: 'Devices, pipes and sockets are not copied with a skill.',
        find: 'else throw refusal(`${path} is a device, pipe or socket.`);',
        replace: '',
      },
      {
        name: 'install-replace',
        holds: 'A skill does not take the place of another without being told to.',
        find: '{ replace: options.replace }',
        replace: '{ replace: true }',
      },
      {
        name: 'install-shows-risks',
        holds: 'What is risky in a skill is shown before it is added.',
        find: 'risks: findRisks(files), pin',
        replace: 'risks: [], pin',
      },
    ],
  ),
  ...guardsIn(
    'cli/extensions/skills.ts',
    ['cli/skills.test.ts'],
    [
      {
        name: 'skills-add-asks',
        holds: 'A skill is added only after a yes.',
        find: "context.stdout.write('Nothing was added.\\n');\n    return 1;",
        replace: "context.stdout.write('Nothing was added.\\n');",
      },
      {
        name: 'skills-add-shows',
        holds: 'The person who is asked sees all that the skill brings first.',
        find: "context.stdout.write(`${terminalText(aboutPlan(plan).join('\\n'))}\\n`);",
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'skills/risks.ts',
    ['skills/risks.test.ts'],
    [
      {
        name: 'risks-folded',
        holds: 'Hidden characters and wide letters do not keep a risky line from being found.',
        find: "const plain = text.normalize('NFKC').replace(/\\p{Cf}/gu, '');",
        replace: 'const plain = text;',
      },
      {
        name: 'risks-invisible',
        holds: 'Characters that nobody sees are told.',
        find: 'if (invisible > 0) {',
        replace: 'if (invisible < 0) {',
      },
      {
        name: 'risks-programs',
        holds: 'Programs and archives in a skill are told, whatever they are named.',
        find: 'if (program !== undefined) return program.what;',
        replace: '',
      },
      {
        name: 'risks-binary',
        holds: 'Whatever is no text in a skill is told.',
        find: "return MEDIA_NAME.test(path) ? 'harmless' : 'a file that is no text';",
        replace: "return 'harmless';",
      },
      {
        name: 'risks-windows',
        holds: 'Nothing is hidden far out in a long line.',
        find: 'for (let start = 0; start < plain.length; start += WINDOW - OVERLAP) {',
        replace: 'for (let start = 0; start < 1; start += WINDOW - OVERLAP) {',
      },
      {
        name: 'risks-joined-lines',
        holds: 'Nothing is hidden by continuing a command in the next line.',
        find: "if (raw.endsWith('\\\\') && current.text.length < WINDOW)",
        replace: "if (raw.endsWith('\\\\') && current.text.length < 0)",
      },
      {
        name: 'risks-weak-together',
        holds: 'Two things that many honest skills hold are told where they stand together.',
        find: 'if (kinds.length < 2 && kinds.every(',
        replace: 'if (kinds.every(',
      },
      {
        name: 'risks-spelled-out',
        holds: 'What is shown of a risk hides nothing itself.',
        find: 'cut(spelledOut(part.trim()), 3 * LONGEST_EXCERPT)',
        replace: 'cut(part.trim(), 3 * LONGEST_EXCERPT)',
      },
    ],
  ),
  ...guardsIn(
    'skills/risky-patterns.ts',
    ['skills/risks.test.ts'],
    [
      {
        name: 'risky-download-to-shell',
        holds: 'Piping a download into a shell is told.',
        find: 'String.raw`${DOWNLOAD}[^\\n]{0,400}?',
        replace: 'String.raw`(?!)${DOWNLOAD}[^\\n]{0,400}?',
      },
      {
        name: 'risky-secret-files',
        holds: 'Naming files with credentials is told.',
        find: 'new RegExp(`(?:${READS})(?:${place})`',
        replace: 'new RegExp(`(?!)(?:${READS})(?:${place})`',
      },
      {
        name: 'risky-own-state',
        holds: "Naming the assistant's own configuration is told.",
        find: String.raw`\.(?:assistant|openclaw|`,
        replace: String.raw`(?!)\.(?:assistant|openclaw|`,
      },
      {
        name: 'risky-hidden-instructions',
        holds: 'Words that are meant to overrule others are told.',
        find: String.raw`/\b(?:ignore|disregard|forget|override|bypass)\s+`,
        replace: String.raw`/(?!)\b(?:ignore|disregard|forget|override|bypass)\s+`,
      },
      {
        name: 'risky-paste-sites',
        holds: 'Addresses to which data is carried off, or code is put, without a name are told.',
        find: String.raw`/\b(?:pastebin\.com|`,
        replace: String.raw`/(?!)\b(?:pastebin\.com|`,
      },
      {
        name: 'risky-thieves',
        holds: 'Addresses that are known for receiving what was stolen are told.',
        find: String.raw`/\b(?:webhook\.site|`,
        replace: String.raw`/(?!)\b(?:webhook\.site|`,
      },
      {
        name: 'risky-remote-control',
        holds: 'A way in for others is told.',
        find: String.raw`/\/dev\/(?:tcp|udp)\/|`,
        replace: String.raw`/(?!)\/dev\/(?:tcp|udp)\/|`,
      },
      {
        name: 'risky-archive-password',
        holds: 'An archive that a password keeps from being looked at is told.',
        find: String.raw`\b(?:archive|zip|rar|7z|extract\w*|`,
        replace: String.raw`(?!)\b(?:archive|zip|rar|7z|extract\w*|`,
      },
    ],
  ),
  ...guardsIn(
    'skills/put-together.ts',
    ['skills/risk-figures.test.ts'],
    [
      {
        name: 'put-together-names',
        holds: 'A command behind names that stand for its programs is told.',
        find: 'if (SHELLS.test(meant)) found.set(name, meant);',
        replace: '',
      },
      {
        name: 'put-together-words',
        holds: 'A word that is put together from parts is told.',
        find: 'if (line === together) return undefined;',
        replace: 'if (line !== null) return undefined;',
      },
    ],
  ),
];
