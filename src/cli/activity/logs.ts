import { wantsColor } from '../../core/config/environment.ts';
import { followLog, readLog, type LogPosition } from '../../core/storage/log-reader.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { json as jsonText } from '../../core/cli/format.ts';
import { isAtLeast, logLineText, readLogLine, type LogLine, type ShownLevel } from './log-line.ts';
import { pathsOf } from '../../core/cli/open.ts';
import { readMoment } from './moment.ts';
import type { OutputFlags } from '../../core/cli/command.ts';

/** Lines that are shown where neither `--lines` nor `--since` is given. */
const SHOWN = 200;

/** `assistant logs`: the log file of the home and its older files, and with `follow` what comes until Ctrl-C. */
export async function logsCommand(
  flags: OutputFlags & {
    readonly follow: boolean;
    readonly lines: number | undefined;
    readonly level: ShownLevel;
    readonly since: string | undefined;
  },
  context: CliContext,
): Promise<number> {
  const { home, json, follow, level, since } = flags;
  const path = pathsOf(context, home).log;
  const from = since === undefined ? null : readMoment(since, { option: '--since', now: context.clock.now() });
  const most = flags.lines ?? (from === null ? SHOWN : Infinity);
  const ended = new AbortController();
  using _signals = context.onSignal(() => ended.abort());
  const show = printer(context, json);
  const wanted = (text: string): LogLine | null => {
    const line = readLogLine(text);
    return isAtLeast(line, level) ? line : null;
  };
  const tooOld = (text: string): boolean => from !== null && (readLogLine(text).at ?? from) < from;
  const found = await readLog(path, { most, wanted, tooOld });
  for (const line of found?.lines ?? []) show(line);
  if (found === null) {
    context.stderr.write(`There is no log yet. ${assistantCommand('gateway')} writes it to ${path}.\n`);
  }
  if (follow) await showNew({ path, from: found?.end ?? null, signal: ended.signal, wanted, show }, context);
  return 0;
}

async function showNew(
  what: {
    readonly path: string;
    readonly from: LogPosition | null;
    readonly signal: AbortSignal;
    readonly wanted: (text: string) => LogLine | null;
    readonly show: (line: LogLine) => void;
  },
  { clock }: CliContext,
): Promise<void> {
  const { path, from, signal, wanted, show } = what;
  for await (const text of followLog(path, { from, clock, signal })) {
    const line = wanted(text);
    if (line !== null) show(line);
  }
}

/** Writes one line of the log, as JSON or for a person. */
function printer({ stdout, env }: CliContext, isJson: boolean): (line: LogLine) => void {
  const style = stdout.isTTY !== true ? 'plain' : wantsColor(env) ? 'color' : 'plain';
  return (line) => {
    const { at, level, message, fields } = line;
    const time = at === null ? null : new Date(at).toISOString();
    const text = isJson ? jsonText({ time, level, message, fields }, 0) : logLineText(line, style);
    stdout.write(`${text}\n`);
  };
}
