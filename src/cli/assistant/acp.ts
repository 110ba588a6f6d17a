import { join } from 'node:path';
import { readVersion } from '../../core/config/version.ts';
import { serveAcp } from '../../acp/serve.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { terminalText } from '../../core/cli/format.ts';
import { openAssistant, pathsOf } from '../../core/cli/open.ts';
import type { HomeFlag } from '../../core/cli/command.ts';
import { ReconnectingAssistant } from '../reconnect.ts';

/** `assistant acp`: speaks with a code editor over stdin and stdout, attached to a running gateway or alone, until stdin ends. */
export async function acpCommand({ home }: HomeFlag, context: CliContext): Promise<number> {
  const { stdin: input, stdout: output, stderr, clock } = context;
  const paths = pathsOf(context, home);
  const ended = new AbortController();
  using _signals = context.onSignal(() => ended.abort());
  await using opened = await openAssistant(context, home, { log: 'configured' });
  const log = (line: string): void => void stderr.write(`${terminalText(line)}\n`);
  const images = join(paths.media, 'editor');
  const options = { input, output, version: readVersion(), images, log, signal: ended.signal };
  if (!opened.attached) {
    await serveAcp({ ...options, assistant: opened.port });
    return 0;
  }
  await using running = new ReconnectingAssistant(opened.port, { clock, connect: () => context.connect(paths.socket) });
  running.watch({ news: log });
  await serveAcp({ ...options, assistant: running });
  return 0;
}
