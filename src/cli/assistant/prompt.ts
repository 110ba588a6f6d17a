import type { PromptInfo } from '../../core/gateway/operations/sessions.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { openAssistant } from '../../core/cli/open.ts';
import { json as jsonText, terminalText } from '../../core/cli/format.ts';
import { print } from '../../core/cli/print.ts';
import { sessionKey } from '../data/found.ts';
import type { OutputFlags } from '../../core/cli/command.ts';
import { countText } from '../../core/util/text.ts';

/** `assistant prompt`: what the model of a session is sent before the conversation, and how large each part is. */
export async function promptCommand(
  { session, full, home, json }: OutputFlags & { readonly session: string; readonly full: boolean },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const prompt = await assistant.port.call('prompt', { session: sessionKey(session) });
  if (json) {
    context.stdout.write(`${jsonText(prompt)}\n`);
    return 0;
  }
  if (full) {
    const texts = [
      ...prompt.layers.map(({ text }) => text),
      ['# Tools', ...prompt.tools.specs.map(toolText)].join('\n\n'),
    ];
    context.stdout.write(`${terminalText(texts.join('\n\n---\n\n'))}\n\n`);
  }
  print(context, false, { facts: prompt, lines: table(prompt), escape: terminalText });
  return 0;
}

/** What the model reads of a tool: its description, then its parameters as they are sent. */
function toolText({ name, description, parameters }: PromptInfo['tools']['specs'][number]): string {
  return `## ${name}\n\n${description}\n\n${jsonText(parameters)}`;
}

function table({ session, model, layers, tools, conversation, used, window }: PromptInfo): readonly string[] {
  const row = (name: string, tokens: number, what: string): string =>
    `  ${name.padEnd(14)} ${countText(tokens).padStart(8)} tokens  ${what}`;
  return [
    `${terminalText(session)} with ${terminalText(model)}`,
    ...layers.map(({ name, text, tokens }) => row(name, tokens, `${countText(text.length)} characters`)),
    row('tools', tools.tokens, String(tools.count)),
    row('conversation', conversation.tokens, `${conversation.messages} messages`),
    row('in all', used, `of ${countText(window)}`),
  ];
}
