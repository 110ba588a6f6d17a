import { sentenceOf } from '../../util/finding.ts';
import type { App } from '../../app.ts';
import type { ToolSpec } from '../../providers/provider.ts';
import { tooSmall, type ContextReport } from '../context/fit.ts';
import type { ChatCommand } from './command.ts';
import { countText } from '../../util/text.ts';

/** The parts of a session's next request to the model. */
export interface PromptReport {
  readonly session: string;
  /** `provider/model` */
  readonly model: string;
  /** The layers of the system prompt, in order. */
  readonly layers: readonly { readonly name: string; readonly text: string }[];
  /** The tools, in the order in which they are sent. */
  readonly tools: readonly ToolSpec[];
  /** One sentence, where a small window takes tools away. */
  readonly fewTools: string | null;
  readonly messageCount: number;
  /** Token estimates. */
  readonly tokens: ContextReport;
}

export const contextCommand = ({ prompts }: App): ChatCommand => ({
  name: 'context',
  description: 'what the model is sent here, and how much space is left',
  role: 'trusted',
  priority: false,
  interrupts: false,
  repeatable: true,
  run: async ({ message }) => contextLines(await prompts.report(message.sessionKey)).join('\n'),
});

/** One line for each part of the request, in the order in which they are sent. */
function contextLines(report: PromptReport): readonly string[] {
  const { tokens } = report;
  const rows = [
    ...report.layers.map(({ name, text }, index) =>
      row(name, tokens.layers[index] ?? 0, `${countText(text.length)} characters`),
    ),
    row('tools', tokens.tools, `${report.tools.length}`),
    row('conversation', tokens.history, `${report.messageCount} messages`),
  ];
  const warning = tooSmall(report.model, tokens);
  const percent = Math.round(100 * tokens.share);
  return [
    `Model: \`${report.model}\``,
    ...rows,
    `In all about ${countText(tokens.used)} of ${countText(tokens.window)} tokens (${percent}%).`,
    ...(report.fewTools === null ? [] : [report.fewTools]),
    ...(warning === null
      ? [`Room for the conversation: ${countText(tokens.space)} tokens.`]
      : ['', sentenceOf(warning)]),
  ];
}

function row(name: string, tokens: number, what: string): string {
  return `- ${name}: ${countText(tokens)} tokens (${what})`;
}
