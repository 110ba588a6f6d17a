import type { Examination, Examined } from '../../doctor/examine.ts';
import { SUBJECTS } from '../../core/doctor/check.ts';
import type { State } from '../../core/util/finding.ts';
import type { RunningGateway } from '../../core/doctor/scene.ts';
import type { AssistantPort } from '../../core/gateway/assistant-port.ts';
import { deadline, raceAbort } from '../../core/util/clock.ts';
import { systemRandom } from '../../core/util/random.ts';
import { plural } from '../../core/util/text.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { terminalText } from '../../core/cli/format.ts';
import { print } from '../../core/cli/print.ts';
import { pathsOf, programOfHome } from '../../core/cli/open.ts';
import type { OutputFlags } from '../../core/cli/command.ts';

/** Of the shape of `--json`; a change that readers would notice gets another number. */
const VERSION = 1;
/** How long a gateway may take to say how it is, milliseconds. */
const GATEWAY_MS = 5_000;

const SIGNS: Readonly<Record<State, string>> = { ok: '✓', note: '·', warning: '⚠', failed: '✗', skipped: '-' };

/** `assistant doctor`: looks at everything that can be wrong. Exit code 1 where something failed. */
export async function doctorCommand(
  { home, json, fix, offline }: OutputFlags & { readonly fix: boolean; readonly offline: boolean },
  context: CliContext,
): Promise<number> {
  const { clock, env } = context;
  const paths = pathsOf(context, home);
  const [{ examine }, { openScene }] = await Promise.all([
    import('../../doctor/examine.ts'),
    import('../../doctor/open-scene.ts'),
  ]);
  await using running = await context.connect(paths.socket).catch(() => undefined);
  const gateway = running === undefined ? null : await gatewayOf(running, context);
  const host = context.host();
  using scene = await openScene({
    program: await programOfHome(context, paths),
    paths,
    env,
    clock,
    random: systemRandom,
    host,
    gateway,
    homeFlag: home,
  });
  const examination = await examine(scene, { offline, fix });
  const isFine = examination.findings.every(({ state }) => state !== 'failed');
  const checks = examination.findings.map(({ check, state, says, remedy }) => ({
    id: check.id,
    state,
    evidence: says,
    remedy,
  }));
  const facts = { version: VERSION, checks, ok: isFine, ...(fix ? { mended: examination.mended } : {}) };
  print(context, json, { facts, lines: linesOf(examination), escape: terminalText });
  return isFine ? 0 : 1;
}

/** What a gateway says of itself; null where it does not answer in time. */
async function gatewayOf(port: AssistantPort, { clock }: CliContext): Promise<RunningGateway | null> {
  using limit = deadline(clock, GATEWAY_MS, 'the gateway');
  try {
    const info = await raceAbort(port.call('info', {}), limit.signal);
    return {
      ...info,
      requestTokens: async () => (await port.call('prompt', { session: 'terminal:main' })).used,
    };
  } catch {
    return null;
  }
}

function linesOf({ findings, mended }: Examination): readonly string[] {
  const groups = SUBJECTS.flatMap((subject) =>
    groupLines(
      subject,
      findings.filter(({ check }) => check.subject === subject),
    ),
  );
  const failures = findings.filter(({ state }) => state === 'failed');
  const warnings = findings.filter(({ state }) => state === 'warning');
  const counts = [
    `${failures.length} failed`,
    plural(warnings.length, 'warning'),
    plural(findings.filter(({ state }) => state === 'note').length, 'note'),
    `${findings.filter(({ state }) => state === 'ok').length} fine`,
  ];
  return [
    ...groups,
    ...(mended.length === 0 ? [] : ['', 'Mended:', ...mended.map((sentence) => `  ${sentence}`)]),
    ...section('Failed:', failures),
    ...section('Warnings:', warnings),
    '',
    `${counts.join(', ')}.`,
  ];
}

/** A subject with what is not fine of it; what has to be done comes once, at the end. */
function groupLines(subject: string, findings: readonly Examined[]): readonly string[] {
  if (findings.length === 0) return [];
  const fine = findings.filter(({ state }) => state === 'ok').length;
  const left = findings.filter(({ state }) => state === 'skipped').length;
  const counts = [...(fine > 0 ? [`${fine} fine`] : []), ...(left > 0 ? [`${left} not looked at`] : [])].join(', ');
  const shown = findings.filter(({ state }) => state !== 'ok' && state !== 'skipped');
  return [
    `${subject.padEnd(14)} ${counts}`.trimEnd(),
    ...shown.flatMap(({ state, check, says, remedy }) => [
      `  ${SIGNS[state]} ${check.id}: ${says}`,
      ...(state === 'note' && remedy !== null ? [`      → ${remedy}`] : []),
    ]),
  ];
}

function section(title: string, findings: readonly Examined[]): readonly string[] {
  if (findings.length === 0) return [];
  return [
    '',
    title,
    ...findings.flatMap(({ state, check, says, remedy }) => [
      `${SIGNS[state]} ${check.id}: ${says}`,
      ...(remedy === null ? [] : [`    → ${remedy}`]),
    ]),
  ];
}
